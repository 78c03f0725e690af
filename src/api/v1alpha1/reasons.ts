/** The closed list of reasons: of every condition, and of every event that comes with one. docs/reference/reasons.md shows it. */
export const REASONS = {
  "Waiting and progress": {
    Pending: "No controller has reconciled the object yet.",
    Progressing: "Work is in progress.",
    Creating: "The remote endpoint is being created.",
    Updating: "An update of the remote endpoint is in progress.",
    Deleting: "Mooring cleans up at the service before it removes the finalizer.",
    Submitting: "A paid request is being sent.",
    Queued: "The remote task is queued at the service.",
    Running: "The remote task runs.",
    Storing: "Results are being copied to the store.",
    Reusing: "Another job has sent the same request. The job waits for its results, and sends nothing meanwhile.",
    WaitingForSource:
      "The job whose result `audioFrom` takes has not ended. The message names it and its phase. Continues without help.",
    RateLimited:
      "A request waits for the account's rate limit, or because the service asked to wait. Continues without help.",
    ConcurrencyLimited:
      "The account has as many tasks in progress as `maxConcurrentTasks` allows, or 256 requests under way. Continues without help.",
    ShareLimited:
      "A limit of the namespace's share of a ClusterAccount is reached. The message has the limit, what is used, and how many jobs go first. Continues without help.",
    Retrying: "A request failed for a reason that may be temporary. It is retried with backoff.",
    ListUnreadable:
      "The service returns a list of endpoints that is too large, has no end or cannot be read. It is retried with backoff.",
    EtcdRestored:
      "etcd was restored from a backup, and the object is older. Nothing is sent for it until you run `mooring confirm-restore`.",
  },
  Success: {
    Ready: "The account can be used.",
    Serving: "The remote endpoint serves.",
    InSync: "The remote endpoint matches the spec.",
    Completed: "The job succeeded and its results are known, or all items of the batch did.",
    Available: "The results can be fetched.",
    Stored: "The results are copied to the store.",
    Authenticated: "The service accepts the key.",
    Reachable: "The service responds.",
    WithinBudget: "Enough of the budget is left.",
    Resumed: "The job is no longer suspended.",
  },
  "Held by the user": {
    Suspended: "`spec.suspend` is true. An endpoint with `Ready=True` and this reason serves no requests.",
    Stopped: "The endpoint is suspended and no worker runs.",
    Paused: 'The annotation mooring.dev/paused is "true".',
    Observing: "`managementPolicy` is Observe: Mooring reads the remote endpoint and never writes.",
    AlreadySubmitted: "`spec.suspend` was set after the submission. The service cannot stop the task.",
  },
  "The remote endpoint": {
    NotServing: "The endpoint is not in a serving state.",
    RemoteStateUnknown: "The service reports a state that Mooring does not know. The status shows it verbatim.",
    RemoteError: "The service reports an error of the endpoint. The message quotes it.",
    RemoteMissing:
      "The service does not show the endpoint. The message says whether that proves that the endpoint is gone.",
    RemoteRefused: "The service refused the request and a retry does not help. The message quotes the service.",
    Drifted: "The remote endpoint differs from the spec.",
    DriftFight:
      "Another client keeps reverting Mooring's update: reads showed the updated value and later another one.",
    UpdateNotApplied:
      "The service accepts an update, but no read shows its values. The update is repeated with backoff.",
    AppNameTaken: "An endpoint that this object did not create has this app name.",
    AlreadyBound:
      "Another GpuEndpoint in the cluster is bound to the remote endpoint, or has the app name, that this object asks for.",
    AdoptionMismatch: "The endpoint to adopt differs from the spec, and `adoption.mode` is Match.",
    AdoptionNotFound: "The endpoint to adopt does not exist.",
    DeleteNotConfigured: "`deletionPolicy` is Delete, and the account has no `endpoints.deleteOperation`.",
    ExportConflict: "`exportTo` names an existing object that does not belong to this one.",
    ExportForbidden:
      "The operator may not write the object that `exportTo` names. The message says how to grant the permission.",
  },
  "The spec": {
    InvalidSpec:
      "The spec has a value that cannot be sent. The message names the field, the value and what is allowed.",
    OutOfRange: "A value is outside the account's limits. The message lists the field, the value and the range.",
    SecretKeyMissing: "A Secret or ConfigMap that the spec refers to does not have the key.",
    SecretNotFound: "A Secret that the spec refers to does not exist.",
    ReadForbidden:
      "The operator may not read a Secret or ConfigMap that the spec refers to. The message says how to grant the permission.",
    ObjectNotFound: "An object of an ArtifactStore that the spec refers to does not exist.",
    ConfigMapNotFound: "A ConfigMap that the spec refers to does not exist.",
    SourceNotFound: "The job whose result `audioFrom` takes does not exist.",
    SourceFailed: "The job whose result `audioFrom` takes has failed, or its result cannot be read any more.",
    SourceCycle: "`audioFrom` leads back to the job itself, or into a circle of jobs. The message has the path.",
    StoreNotReady: "The ArtifactStore that `output` refers to does not exist or does not work.",
  },
  Jobs: {
    SubmissionUnknown:
      "It is unknown whether the service accepted the request. You decide, or `onSubmissionUnknown` does.",
    ResponseUnusable:
      "The service accepted the request (2xx), and its result cannot be read or stored. It is never sent again without your decision.",
    NotEntitled: "The service offers this operation to verified accounts only.",
    OperationForbidden:
      "The service does not allow the account's key to use this operation (403). It is tried again with backoff.",
    PathNotFound:
      "The service, or a gateway before it, does not know the path of this operation (404, 405, 410). It is tried again with backoff.",
    InsufficientBalance: "The account's balance or quota is too low.",
    CostTooHigh: "The job would cost more than its `maxCost`. The message has both amounts.",
    PriceUnknown: "The job has a `maxCost`, and no bill has shown a price of its model yet.",
    RemoteTaskFailed: "The remote task failed. The message quotes the service.",
    Attached: "The annotation mooring.dev/attach-task attached the job to the task.",
    TaskMismatch:
      "The task of mooring.dev/attach-task is not one that the job's request can have made. The message says why.",
    TaskTaken: "Another object has the task of mooring.dev/attach-task.",
    TaskNotFound:
      "The service does not know the task. The job sends nothing again, and follows a task that it had further.",
    PollsFailing: "The polls of the task keep failing. The message quotes the last error.",
    RemoteStatusUnknown:
      "The task shows a status that Mooring does not know, without a change for an hour. The message names it.",
    BackoffLimitExceeded: "The remote task failed more often than `backoffLimit` allows.",
    DeadlineExceeded: "`activeDeadlineSeconds` passed.",
    NoResult:
      "The request or its task succeeded without a result, or the URLs of a request without a task expired before the copy was complete.",
    ResultUnavailable: "A result cannot be copied: the source refuses its URL, and the task has no other one.",
    ResultTooLarge: "A result is larger than the store takes of a job, or than the request can make.",
    Expiring: "A quarter of the lifetime of the result URLs is left, and no copy exists.",
    Expired: "The result URLs expired, and no copy exists.",
    TaskRunsOn: "The job was deleted after its submission. The service cannot stop the task and charges for it.",
  },
  Batches: {
    InvalidItems: "The items of the batch cannot be used. The message has the first lines with what is wrong.",
    ItemsChanged:
      "The items are not those that were checked when the batch began. The message has both numbers. Nothing more is started.",
    JobNameTaken: "An object that the batch did not create has the name of one of its jobs. The message names it.",
    JobsHalted: "Only jobs that wait for a decision are left. `mooring resolve` decides for all of them at once.",
    FailedIndexes: "All items have ended, and some failed. `status.failedIndexes` has their indexes.",
    MaxFailedIndexesExceeded: "More items failed than `maxFailedIndexes` allows.",
  },
  "Artifact stores": {
    StoreDenied: "The artifact store refuses the credentials, they lack a permission, or the store has none.",
    BucketNotFound: "The bucket does not exist.",
    VolumeNotAvailable: "The operator has no `--artifact-root`, or cannot use the folder under it.",
    StoreFull: "The artifact store is full, or has reached `maxBytes`.",
    StoreCorrupt: "The artifact store returns other bytes than were written.",
  },
  Accounts: {
    AccountNotFound: "No account has that name, or no account is named `default`.",
    AccountNotReady: "The account cannot be used now. See its conditions.",
    ServedByAnotherInstallation:
      "Another installation of Mooring serves the account. The message has the commands to resolve it.",
    AccountMismatch: "The account has another base URL than the one that this object is bound to.",
    NamespaceNotAllowed:
      "The ClusterAccount does not allow this namespace, or does not let its BillReports see the bills.",
    ShareNotFound: "The ClusterAccount has shares, and none selects the namespace.",
    NotAllowedByShare:
      "The spec asks for what the namespace's share of a ClusterAccount never allows. The message has the field, the value and what is allowed.",
    SharesValid: "Each share selects a namespace, and none is selected twice. Their limits fit into the account's.",
    SharesInvalid:
      "A share selects no namespace, overlaps with another one, or the limits add up to more than the account's. The message has the numbers.",
    Unauthorized: "The service refuses the key: 401, or a 403 that the account's probe meets too.",
    Unreachable: "The service, or the artifact store, does not respond.",
    AddressNotAllowed:
      "A namespaced Account, an ArtifactStore, or a result URL (including its redirects) uses a private address.",
    BudgetExceeded: "The budget is exceeded. New paid work waits with HoldNew.",
    BudgetUnknown: "The budget is not read yet, or cannot be read. New paid work waits with HoldNew.",
    InUse: "The object is being deleted and is still in use.",
  },
  Bills: {
    Reported: "The bills of the period were read and summed.",
    BillsTooLarge:
      "The service has more bills of an hour, or of a week or month of this cycle, than one answer can have.",
    NotBegun: "The period has not begun.",
    BillsUnreadable: "Some bills have an amount that is not an integer. The sums do not include them.",
    Exported: "The bills are written to the destination in the spec.",
    ExportTooLarge: "The bills are too large for a ConfigMap. The message names both sizes.",
  },
} satisfies Record<string, Record<string, string>>;

type Sections = typeof REASONS;
export type Reason = { [S in keyof Sections]: keyof Sections[S] }[keyof Sections];
