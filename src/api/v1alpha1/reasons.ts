/**
 * The closed list of reasons: of every condition and, where one is sent, of the event beside it. The documentation is made from the
 * comments here.
 */
export const REASONS = {
  // Waiting and progress
  /** Nothing was done yet. */
  Pending: "Pending",
  /** Work is under way. */
  Progressing: "Progressing",
  /** The remote endpoint is being created. */
  Creating: "Creating",
  /** A change is on its way to the remote. */
  Updating: "Updating",
  /** The remote is being cleaned up before the object goes. */
  Deleting: "Deleting",
  /** A paid request is being sent. */
  Submitting: "Submitting",
  /** The remote task waits for its turn. */
  Queued: "Queued",
  /** The remote task runs. */
  Running: "Running",
  /** Results are being copied to the store. */
  Storing: "Storing",
  /** A request waits for the account's rate limit, or the service asked to wait; goes on by itself. */
  RateLimited: "RateLimited",
  /** The account has as many tasks in flight as `maxConcurrentTasks` allows; goes on by itself. */
  ConcurrencyLimited: "ConcurrencyLimited",
  /** A request failed in a way that may pass; it is repeated with growing pauses. */
  Retrying: "Retrying",

  // All is well
  /** The account can be used. */
  Ready: "Ready",
  /** The remote endpoint serves. */
  Serving: "Serving",
  /** The remote equals the spec. */
  InSync: "InSync",
  /** The job finished and its results are known. */
  Completed: "Completed",
  /** The results can be fetched. */
  Available: "Available",
  /** The results are copied to the store. */
  Stored: "Stored",
  /** The service takes the key. */
  Authenticated: "Authenticated",
  /** The service answers. */
  Reachable: "Reachable",
  /** Enough of the budget is left. */
  WithinBudget: "WithinBudget",
  /** The job is no longer suspended. */
  Resumed: "Resumed",

  // Held on purpose
  /** `spec.suspend` is true. */
  Suspended: "Suspended",
  /** The endpoint is suspended and no worker runs. */
  Stopped: "Stopped",
  /** The annotation mooring.dev/paused is "true". */
  Paused: "Paused",
  /** `managementPolicy` is Observe: the remote is read, never written. */
  Observing: "Observing",
  /** `spec.suspend` came after the submission; the remote cannot be stopped. */
  AlreadySubmitted: "AlreadySubmitted",

  // The remote endpoint
  /** The endpoint is not in a serving state. */
  NotServing: "NotServing",
  /** The remote reports a state that is not known here; it is shown as it is. */
  RemoteStateUnknown: "RemoteStateUnknown",
  /** The remote reports an error, in its words. */
  RemoteError: "RemoteError",
  /** The service does not show the endpoint; the message says whether that proves it gone. */
  RemoteMissing: "RemoteMissing",
  /** The service refused the request for good, in its words. */
  RemoteRefused: "RemoteRefused",
  /** The remote differs from the spec. */
  Drifted: "Drifted",
  /** Another client keeps reverting our change at the remote: reads showed our value, and later another one. */
  DriftFight: "DriftFight",
  /** The service accepts an update and no read shows its values; the update is repeated with backoff. */
  UpdateNotApplied: "UpdateNotApplied",
  /** Another endpoint has this app name, and it is not ours. */
  AppNameTaken: "AppNameTaken",
  /** Another GpuEndpoint in the cluster has the remote endpoint or the app name that this object is to have. */
  AlreadyBound: "AlreadyBound",
  /** The endpoint to adopt differs from the spec, and `adoption.mode` is Match. */
  AdoptionMismatch: "AdoptionMismatch",
  /** The endpoint to adopt does not exist. */
  AdoptionNotFound: "AdoptionNotFound",
  /** `deletionPolicy` is Delete, and the account has no `endpoints.deleteOperation`. */
  DeleteNotConfigured: "DeleteNotConfigured",
  /** `exportTo` names an object that belongs to something else. */
  ExportConflict: "ExportConflict",
  /** The operator lacks a permission that `exportTo` needs. */
  ExportForbidden: "ExportForbidden",

  // The spec
  /** The spec says something that cannot be sent; the message names field, value and what is allowed. */
  InvalidSpec: "InvalidSpec",
  /** A value lies outside the account's limits; the message lists field, value and range. */
  OutOfRange: "OutOfRange",
  /** A Secret or ConfigMap that the spec refers to lacks the key. */
  SecretKeyMissing: "SecretKeyMissing",
  /** A Secret that is referred to does not exist. */
  SecretNotFound: "SecretNotFound",
  /** A ConfigMap that is referred to does not exist. */
  ConfigMapNotFound: "ConfigMapNotFound",
  /** The ArtifactStore that `output` refers to does not exist or does not work. */
  StoreNotReady: "StoreNotReady",

  // Jobs
  /** It cannot be known whether the service took the request; a person, or onSubmissionUnknown, decides. */
  SubmissionUnknown: "SubmissionUnknown",
  /** The service opens this operation to verified accounts only. */
  NotEntitled: "NotEntitled",
  /** The account's balance or quota does not suffice. */
  InsufficientBalance: "InsufficientBalance",
  /** The remote task failed, in the service's words. */
  RemoteTaskFailed: "RemoteTaskFailed",
  /** The remote task failed as often as `backoffLimit` allows. */
  BackoffLimitExceeded: "BackoffLimitExceeded",
  /** `activeDeadlineSeconds` passed. */
  DeadlineExceeded: "DeadlineExceeded",
  /** The remote task succeeded without any result. */
  NoResult: "NoResult",
  /** A result cannot be copied from its URL: it is refused there, or larger than what is copied. */
  ResultUnavailable: "ResultUnavailable",
  /** A quarter of the life of the results' URLs is left, and no copy is kept. */
  Expiring: "Expiring",
  /** The URLs of the results ran out and no copy was kept. */
  Expired: "Expired",
  /** The job was deleted after its submission; the remote cannot be stopped, and charges it. */
  TaskRunsOn: "TaskRunsOn",

  // Artifact stores
  /** The artifact store refuses the credentials, or they do not allow what is needed. */
  StoreDenied: "StoreDenied",
  /** The bucket does not exist. */
  BucketNotFound: "BucketNotFound",
  /** The operator has no `--artifact-root`, or the folder under it cannot be used. */
  VolumeNotAvailable: "VolumeNotAvailable",
  /** Nothing more fits into the artifact store. */
  StoreFull: "StoreFull",
  /** What the artifact store gives back is not what was sent. */
  StoreCorrupt: "StoreCorrupt",

  // Accounts
  /** No account of that name, or none that is called default. */
  AccountNotFound: "AccountNotFound",
  /** The account cannot be used now; see its conditions. */
  AccountNotReady: "AccountNotReady",
  /** The account now has another base URL than the one this object is bound to. */
  AccountMismatch: "AccountMismatch",
  /** The ClusterAccount does not allow this namespace. */
  NamespaceNotAllowed: "NamespaceNotAllowed",
  /** The service refuses the key (401 or 403). */
  Unauthorized: "Unauthorized",
  /** The service, or the artifact store, does not answer. */
  Unreachable: "Unreachable",
  /** A namespaced Account or ArtifactStore, or the URL of a result (its redirects included), points at a private address. */
  AddressNotAllowed: "AddressNotAllowed",
  /** Less is left than the budget asks for; new paid work waits. */
  BudgetExceeded: "BudgetExceeded",
  /** A budget is set and not read yet, or cannot be read; new paid work waits with HoldNew. */
  BudgetUnknown: "BudgetUnknown",
  /** The object is to be deleted and is still in use. */
  InUse: "InUse",

  // Bills
  /** The bills of the period were read and summed. */
  Reported: "Reported",
  /** The period has not begun. */
  NotBegun: "NotBegun",
  /** Some bills have an amount that is no integer; the sums lack them. */
  BillsUnreadable: "BillsUnreadable",
  /** The bills are written where the spec wants them. */
  Exported: "Exported",
  /** The bills are too large for a ConfigMap; the message names both sizes. */
  ExportTooLarge: "ExportTooLarge",
} as const;

export type Reason = keyof typeof REASONS;
