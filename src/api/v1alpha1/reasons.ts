/**
 * The closed list of reasons: of every condition and of every event that comes with one. docs/reasons.md is generated from these
 * comments.
 */
export const REASONS = {
  // Waiting and progress
  /** No controller has reconciled the object yet. */
  Pending: "Pending",
  /** Work is in progress. */
  Progressing: "Progressing",
  /** The remote endpoint is being created. */
  Creating: "Creating",
  /** An update of the remote endpoint is in progress. */
  Updating: "Updating",
  /** Mooring cleans up at the service before it removes the finalizer. */
  Deleting: "Deleting",
  /** A paid request is being sent. */
  Submitting: "Submitting",
  /** The remote task is queued at the service. */
  Queued: "Queued",
  /** The remote task runs. */
  Running: "Running",
  /** Results are being copied to the store. */
  Storing: "Storing",
  /** A request waits for the account's rate limit, or because the service asked to wait. Continues without help. */
  RateLimited: "RateLimited",
  /** The account has as many tasks in progress as `maxConcurrentTasks` allows, or 256 requests under way. Continues without help. */
  ConcurrencyLimited: "ConcurrencyLimited",
  /** A request failed for a reason that may be temporary. It is retried with backoff. */
  Retrying: "Retrying",
  /** The service returns a list of endpoints that is too large, has no end or cannot be read. It is retried with backoff. */
  ListUnreadable: "ListUnreadable",
  /** etcd was restored from a backup, and the object is older. Nothing is sent for it until you run `mooring confirm-restore`. */
  EtcdRestored: "EtcdRestored",

  // Success
  /** The account can be used. */
  Ready: "Ready",
  /** The remote endpoint serves. */
  Serving: "Serving",
  /** The remote endpoint matches the spec. */
  InSync: "InSync",
  /** The job succeeded and its results are known. */
  Completed: "Completed",
  /** The results can be fetched. */
  Available: "Available",
  /** The results are copied to the store. */
  Stored: "Stored",
  /** The service accepts the key. */
  Authenticated: "Authenticated",
  /** The service responds. */
  Reachable: "Reachable",
  /** Enough of the budget is left. */
  WithinBudget: "WithinBudget",
  /** The job is no longer suspended. */
  Resumed: "Resumed",

  // Held by the user
  /** `spec.suspend` is true. An endpoint with `Ready=True` and this reason serves no requests. */
  Suspended: "Suspended",
  /** The endpoint is suspended and no worker runs. */
  Stopped: "Stopped",
  /** The annotation mooring.dev/paused is "true". */
  Paused: "Paused",
  /** `managementPolicy` is Observe: Mooring reads the remote endpoint and never writes. */
  Observing: "Observing",
  /** `spec.suspend` was set after the submission. The service cannot stop the task. */
  AlreadySubmitted: "AlreadySubmitted",

  // The remote endpoint
  /** The endpoint is not in a serving state. */
  NotServing: "NotServing",
  /** The service reports a state that Mooring does not know. The status shows it verbatim. */
  RemoteStateUnknown: "RemoteStateUnknown",
  /** The service reports an error of the endpoint. The message quotes it. */
  RemoteError: "RemoteError",
  /** The service does not show the endpoint. The message says whether that proves that the endpoint is gone. */
  RemoteMissing: "RemoteMissing",
  /** The service refused the request and a retry does not help. The message quotes the service. */
  RemoteRefused: "RemoteRefused",
  /** The remote endpoint differs from the spec. */
  Drifted: "Drifted",
  /** Another client keeps reverting Mooring's update: reads showed the updated value and later another one. */
  DriftFight: "DriftFight",
  /** The service accepts an update, but no read shows its values. The update is repeated with backoff. */
  UpdateNotApplied: "UpdateNotApplied",
  /** An endpoint that this object did not create has this app name. */
  AppNameTaken: "AppNameTaken",
  /** Another GpuEndpoint in the cluster is bound to the remote endpoint, or has the app name, that this object asks for. */
  AlreadyBound: "AlreadyBound",
  /** The endpoint to adopt differs from the spec, and `adoption.mode` is Match. */
  AdoptionMismatch: "AdoptionMismatch",
  /** The endpoint to adopt does not exist. */
  AdoptionNotFound: "AdoptionNotFound",
  /** `deletionPolicy` is Delete, and the account has no `endpoints.deleteOperation`. */
  DeleteNotConfigured: "DeleteNotConfigured",
  /** `exportTo` names an existing object that does not belong to this one. */
  ExportConflict: "ExportConflict",
  /** The operator may not write the object that `exportTo` names. The message says how to grant the permission. */
  ExportForbidden: "ExportForbidden",

  // The spec
  /** The spec has a value that cannot be sent. The message names the field, the value and what is allowed. */
  InvalidSpec: "InvalidSpec",
  /** A value is outside the account's limits. The message lists the field, the value and the range. */
  OutOfRange: "OutOfRange",
  /** A Secret or ConfigMap that the spec refers to does not have the key. */
  SecretKeyMissing: "SecretKeyMissing",
  /** A Secret that the spec refers to does not exist. */
  SecretNotFound: "SecretNotFound",
  /** The operator may not read a Secret or ConfigMap that the spec refers to. The message says how to grant the permission. */
  ReadForbidden: "ReadForbidden",
  /** A ConfigMap that the spec refers to does not exist. */
  ConfigMapNotFound: "ConfigMapNotFound",
  /** The ArtifactStore that `output` refers to does not exist or does not work. */
  StoreNotReady: "StoreNotReady",

  // Jobs
  /** It is unknown whether the service accepted the request. You decide, or `onSubmissionUnknown` does. */
  SubmissionUnknown: "SubmissionUnknown",
  /** The service accepted the request (2xx), and its result cannot be read or stored. It is never sent again without your decision. */
  ResponseUnusable: "ResponseUnusable",
  /** The service offers this operation to verified accounts only. */
  NotEntitled: "NotEntitled",
  /** The service does not allow the account's key to use this operation (403). It is tried again with backoff. */
  OperationForbidden: "OperationForbidden",
  /** The service, or a gateway before it, does not know the path of this operation (404, 405, 410). It is tried again with backoff. */
  PathNotFound: "PathNotFound",
  /** The account's balance or quota is too low. */
  InsufficientBalance: "InsufficientBalance",
  /** The remote task failed. The message quotes the service. */
  RemoteTaskFailed: "RemoteTaskFailed",
  /** The annotation mooring.dev/attach-task attached the job to the task. */
  Attached: "Attached",
  /** The task of mooring.dev/attach-task is not one that the job's request can have made. The message says why. */
  TaskMismatch: "TaskMismatch",
  /** Another object has the task of mooring.dev/attach-task. */
  TaskTaken: "TaskTaken",
  /** The service does not know the task. The job sends nothing again, and follows a task that it had further. */
  TaskNotFound: "TaskNotFound",
  /** The polls of the task keep failing. The message quotes the last error. */
  PollsFailing: "PollsFailing",
  /** The task shows a status that Mooring does not know, without a change for an hour. The message names it. */
  RemoteStatusUnknown: "RemoteStatusUnknown",
  /** The remote task failed more often than `backoffLimit` allows. */
  BackoffLimitExceeded: "BackoffLimitExceeded",
  /** `activeDeadlineSeconds` passed. */
  DeadlineExceeded: "DeadlineExceeded",
  /** The request or its task succeeded without a result, or the URLs of a request without a task expired before the copy was complete. */
  NoResult: "NoResult",
  /** A result cannot be copied: the source refuses its URL, and the task has no other one. */
  ResultUnavailable: "ResultUnavailable",
  /** A result is larger than the store takes of a job, or than the request can make. */
  ResultTooLarge: "ResultTooLarge",
  /** A quarter of the lifetime of the result URLs is left, and no copy exists. */
  Expiring: "Expiring",
  /** The result URLs expired, and no copy exists. */
  Expired: "Expired",
  /** The job was deleted after its submission. The service cannot stop the task and charges for it. */
  TaskRunsOn: "TaskRunsOn",

  // Artifact stores
  /** The artifact store refuses the credentials, they lack a permission, or the store has none. */
  StoreDenied: "StoreDenied",
  /** The bucket does not exist. */
  BucketNotFound: "BucketNotFound",
  /** The operator has no `--artifact-root`, or cannot use the folder under it. */
  VolumeNotAvailable: "VolumeNotAvailable",
  /** The artifact store is full, or has reached `maxBytes`. */
  StoreFull: "StoreFull",
  /** The artifact store returns other bytes than were written. */
  StoreCorrupt: "StoreCorrupt",

  // Accounts
  /** No account has that name, or no account is named `default`. */
  AccountNotFound: "AccountNotFound",
  /** The account cannot be used now. See its conditions. */
  AccountNotReady: "AccountNotReady",
  /** Another installation of Mooring uses the account. The message has the commands to resolve it. */
  ClaimedByAnotherInstallation: "ClaimedByAnotherInstallation",
  /** The account has another base URL than the one that this object is bound to. */
  AccountMismatch: "AccountMismatch",
  /** The ClusterAccount does not allow this namespace, or does not let its BillReports see the bills. */
  NamespaceNotAllowed: "NamespaceNotAllowed",
  /** The service refuses the key: 401, or a 403 that the account's probe meets too. */
  Unauthorized: "Unauthorized",
  /** The service, or the artifact store, does not respond. */
  Unreachable: "Unreachable",
  /** A namespaced Account, an ArtifactStore, or a result URL (including its redirects) uses a private address. */
  AddressNotAllowed: "AddressNotAllowed",
  /** The budget is exceeded. New paid work waits with HoldNew. */
  BudgetExceeded: "BudgetExceeded",
  /** The budget is not read yet, or cannot be read. New paid work waits with HoldNew. */
  BudgetUnknown: "BudgetUnknown",
  /** The object is being deleted and is still in use. */
  InUse: "InUse",

  // Bills
  /** The bills of the period were read and summed. */
  Reported: "Reported",
  /** The service has more bills of an hour, or of a week or month of this cycle, than one answer can have. */
  BillsTooLarge: "BillsTooLarge",
  /** The period has not begun. */
  NotBegun: "NotBegun",
  /** Some bills have an amount that is not an integer. The sums do not include them. */
  BillsUnreadable: "BillsUnreadable",
  /** The bills are written to the destination in the spec. */
  Exported: "Exported",
  /** The bills are too large for a ConfigMap. The message names both sizes. */
  ExportTooLarge: "ExportTooLarge",
} as const;

export type Reason = keyof typeof REASONS;
