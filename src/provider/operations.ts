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
   * Largest response that is read into memory. It never loses a result: paid operations answer with an identifier or a
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

/** A free operation that changes nothing, or nothing more when it is repeated. */
function free(
  method: OperationInfo["method"],
  path: string,
  more: Partial<Pick<OperationInfo, "names" | "idempotent" | "maxResponseBytes">> = {},
): OperationInfo {
  return { method, path, paid: false, idempotent: true, maxResponseBytes: OBJECT, ...more };
}

function paid(path: string, model: string, more: Pick<OperationInfo, "accept" | "task"> = {}): OperationInfo {
  return { method: "POST", path, paid: true, idempotent: false, maxResponseBytes: OBJECT, model, ...more };
}

/** Paths of the earlier generation. */
const EARLIER = "/gpu-instance/openapi/v1";

/**
 * Every operation of the interface, and `deleteEndpoint`, which the interface does not show: the account sets its method and path
 * (`endpoints.deleteOperation`). Limits, path overrides, metrics and errors use these names.
 */
export const OPERATIONS = {
  listEndpoints: free("GET", "/gpus/v2/endpoints", { maxResponseBytes: LIST }),
  getEndpoint: free("GET", "/gpus/v2/endpoints/{endpoint_id}", { names: "InPath" }),
  listEndpointsEarlier: free("GET", `${EARLIER}/endpoints`, { maxResponseBytes: LIST }),
  getEndpointEarlier: free("GET", `${EARLIER}/endpoint`, { names: "InPath" }),
  createEndpoint: free("POST", `${EARLIER}/endpoint/create`, { idempotent: false }),
  updateEndpoint: free("POST", `${EARLIER}/endpoint/update`, { names: "InBody" }),
  deleteEndpoint: free("DELETE", "", { names: "InPath" }),
  getEndpointLimits: free("GET", `${EARLIER}/endpoint/limit`),
  getTaskResult: free("GET", "/v3/async/task-result", { names: "InPath" }),
  synthesizeSpeech: paid("/v3/vendor-speech-2.6-turbo", "speech-2.6-turbo"),
  streamSpeech: paid("/v3/vendor-speech-2.6-turbo", "speech-2.6-turbo", {
    accept: "text/event-stream, application/json",
  }),
  submitSpeech: paid("/v3/async/vendor-speech-2.6-hd", "speech-2.6-hd", {
    task: { result: "Audio", type: "VENDOR_SPEECH_2.6_HD" },
  }),
  submitImageToVideo: paid("/v3/async/vid-i2v", "vid-i2v", { task: { result: "Video", type: "VIDEO_IMG_TO_VIDEO" } }),
  submitVideoToVideo: paid("/v3/async/vid2.6-v2v", "vid2.6-v2v", { task: { result: "Video" } }),
  listBills: free("GET", "/openapi/v1/billing/apikey/bill/list", { maxResponseBytes: BILLS }),
  listKeyBudgets: free("GET", "/openapi/v1/user/team/key-budget-list", { maxResponseBytes: LIST }),
};

export type Operation = keyof typeof OPERATIONS;

/** What kind of task an operation makes; undefined: it makes none. */
export function taskOf(operation: Operation): TaskInfo | undefined {
  return OPERATIONS[operation].task;
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
