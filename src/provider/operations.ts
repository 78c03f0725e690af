/** An operation of the interface as data. */
export type OperationInfo = {
  method: "GET" | "POST" | "DELETE";
  /** Relative to the base URL; `{endpoint_id}` is replaced. */
  path: string;
  /** Whether a call is charged when it takes effect. A paid request is sent at most once per attempt. */
  paid: boolean;
  /** Whether a second call with the same parameters changes nothing more. */
  idempotent: boolean;
  /**
   * Where a request names the object that it is for: in the path or the query, or in the body. Undefined: it names none, so a
   * 404, 405 or 410 says that the path is wrong.
   */
  names?: "InPath" | "InBody";
  /**
   * Largest response that is read into memory. A result is never lost by it: paid operations answer with an identifier or a
   * URL, and audio is not read into memory.
   */
  maxResponseBytes: number;
  /** Media types of the response. Default: JSON. */
  accept?: string;
  /** The operation makes a task. */
  task?: TaskInfo;
  /** The model that a paid operation runs. Operations with the same model are billed as one product. */
  model?: string;
};

/** `type`: the task type that the interface document shows. The document's list is not complete. */
export type TaskInfo = { result: "Audio" | "Video"; type?: string };

const MIB = 1024 * 1024;
/** One object, an identifier or a URL. */
const OBJECT = 4 * MIB;
/** A page of endpoints, or the budgets of a member. */
const LIST = 16 * MIB;
/** Bills have no pages (interface: "Not paged"). */
const BILLS = 32 * MIB;

/**
 * Every operation of the interface, and `deleteEndpoint`, which the interface does not show. Limits, path overrides,
 * metrics and errors use these names.
 */
export const OPERATIONS = {
  listEndpoints: { method: "GET", path: "/gpus/v2/endpoints", paid: false, idempotent: true, maxResponseBytes: LIST },
  getEndpoint: {
    method: "GET",
    path: "/gpus/v2/endpoints/{endpoint_id}",
    paid: false,
    idempotent: true,
    names: "InPath",
    maxResponseBytes: OBJECT,
  },
  listEndpointsEarlier: {
    method: "GET",
    path: "/gpu-instance/openapi/v1/endpoints",
    paid: false,
    idempotent: true,
    maxResponseBytes: LIST,
  },
  getEndpointEarlier: {
    method: "GET",
    path: "/gpu-instance/openapi/v1/endpoint",
    paid: false,
    idempotent: true,
    names: "InPath",
    maxResponseBytes: OBJECT,
  },
  createEndpoint: {
    method: "POST",
    path: "/gpu-instance/openapi/v1/endpoint/create",
    paid: false,
    idempotent: false,
    maxResponseBytes: OBJECT,
  },
  updateEndpoint: {
    method: "POST",
    path: "/gpu-instance/openapi/v1/endpoint/update",
    paid: false,
    idempotent: true,
    names: "InBody",
    maxResponseBytes: OBJECT,
  },
  /** The account sets method and path (`endpoints.deleteOperation`). */
  deleteEndpoint: {
    method: "DELETE",
    path: "",
    paid: false,
    idempotent: true,
    names: "InPath",
    maxResponseBytes: OBJECT,
  },
  getEndpointLimits: {
    method: "GET",
    path: "/gpu-instance/openapi/v1/endpoint/limit",
    paid: false,
    idempotent: true,
    maxResponseBytes: OBJECT,
  },
  getTaskResult: {
    method: "GET",
    path: "/v3/async/task-result",
    paid: false,
    idempotent: true,
    names: "InPath",
    maxResponseBytes: OBJECT,
  },
  synthesizeSpeech: {
    method: "POST",
    path: "/v3/vendor-speech-2.6-turbo",
    paid: true,
    idempotent: false,
    maxResponseBytes: OBJECT,
    model: "speech-2.6-turbo",
  },
  streamSpeech: {
    method: "POST",
    path: "/v3/vendor-speech-2.6-turbo",
    paid: true,
    idempotent: false,
    maxResponseBytes: OBJECT,
    accept: "text/event-stream, application/json",
    model: "speech-2.6-turbo",
  },
  submitSpeech: {
    method: "POST",
    path: "/v3/async/vendor-speech-2.6-hd",
    paid: true,
    idempotent: false,
    maxResponseBytes: OBJECT,
    task: { result: "Audio", type: "VENDOR_SPEECH_2.6_HD" },
    model: "speech-2.6-hd",
  },
  submitImageToVideo: {
    method: "POST",
    path: "/v3/async/vid-i2v",
    paid: true,
    idempotent: false,
    maxResponseBytes: OBJECT,
    task: { result: "Video", type: "VIDEO_IMG_TO_VIDEO" },
    model: "vid-i2v",
  },
  submitVideoToVideo: {
    method: "POST",
    path: "/v3/async/vid2.6-v2v",
    paid: true,
    idempotent: false,
    maxResponseBytes: OBJECT,
    task: { result: "Video" },
    model: "vid2.6-v2v",
  },
  listBills: {
    method: "GET",
    path: "/openapi/v1/billing/apikey/bill/list",
    paid: false,
    idempotent: true,
    maxResponseBytes: BILLS,
  },
  listKeyBudgets: {
    method: "GET",
    path: "/openapi/v1/user/team/key-budget-list",
    paid: false,
    idempotent: true,
    maxResponseBytes: LIST,
  },
} as const satisfies Record<string, OperationInfo>;

export type Operation = keyof typeof OPERATIONS;

/** What kind of task an operation makes; undefined: it makes none. */
export function taskOf(operation: Operation): TaskInfo | undefined {
  const info: OperationInfo = OPERATIONS[operation];
  return info.task;
}

export const OPERATION_NAMES = Object.keys(OPERATIONS).filter((name): name is Operation =>
  Object.hasOwn(OPERATIONS, name),
);

/** Operations that clean up after an endpoint: they read, list, update and delete endpoints, and cost nothing. */
const CLEANUP_OPERATIONS: readonly Operation[] = [
  "getEndpoint",
  "getEndpointEarlier",
  "listEndpoints",
  "listEndpointsEarlier",
  "updateEndpoint",
  "deleteEndpoint",
];

export function isCleanupOperation(operation: Operation): boolean {
  return CLEANUP_OPERATIONS.includes(operation);
}

/** Paths that an account overrides (Account.spec.paths): the service names its models in its paths. */
export type PathOverrides = { readonly [operation in Operation]?: string };

/** How the service deletes an endpoint (Account.spec.endpoints.deleteOperation). */
export type DeleteOperation = {
  method: "DELETE" | "POST" | "PUT" | "PATCH";
  /** `{id}` is replaced by the endpoint's identifier, unless `idField` is set. */
  path: string;
  /** Field that carries the identifier: in the query of a DELETE, else in the JSON body. */
  idField?: string | undefined;
};
