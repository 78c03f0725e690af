/** What is known of an operation before it is called. */
export type OperationInfo = {
  method: "GET" | "POST" | "DELETE";
  /** Relative to the base URL; `{endpoint_id}` is replaced. */
  path: string;
  /** Whether a call that takes effect is charged: it is sent at most once per attempt. */
  paid: boolean;
  /** Whether sending it twice has the effect of sending it once. */
  idempotent: boolean;
};

/**
 * Every operation of the interface, and `deleteEndpoint`, which the interface does not show, by the name that limits, path
 * overrides, metrics and errors use.
 */
export const OPERATIONS = {
  listEndpoints: { method: "GET", path: "/gpus/v2/endpoints", paid: false, idempotent: true },
  getEndpoint: { method: "GET", path: "/gpus/v2/endpoints/{endpoint_id}", paid: false, idempotent: true },
  listEndpointsEarlier: { method: "GET", path: "/gpu-instance/openapi/v1/endpoints", paid: false, idempotent: true },
  getEndpointEarlier: { method: "GET", path: "/gpu-instance/openapi/v1/endpoint", paid: false, idempotent: true },
  createEndpoint: {
    method: "POST",
    path: "/gpu-instance/openapi/v1/endpoint/create",
    paid: false,
    idempotent: false,
  },
  updateEndpoint: { method: "POST", path: "/gpu-instance/openapi/v1/endpoint/update", paid: false, idempotent: true },
  /** Method and path are the account's (`endpoints.deleteOperation`). */
  deleteEndpoint: { method: "DELETE", path: "", paid: false, idempotent: true },
  getEndpointLimits: { method: "GET", path: "/gpu-instance/openapi/v1/endpoint/limit", paid: false, idempotent: true },
  getTaskResult: { method: "GET", path: "/v3/async/task-result", paid: false, idempotent: true },
  synthesizeSpeech: { method: "POST", path: "/v3/vendor-speech-2.6-turbo", paid: true, idempotent: false },
  streamSpeech: { method: "POST", path: "/v3/vendor-speech-2.6-turbo", paid: true, idempotent: false },
  submitSpeech: { method: "POST", path: "/v3/async/vendor-speech-2.6-hd", paid: true, idempotent: false },
  submitImageToVideo: { method: "POST", path: "/v3/async/vid-i2v", paid: true, idempotent: false },
  submitVideoToVideo: { method: "POST", path: "/v3/async/vid2.6-v2v", paid: true, idempotent: false },
  listBills: { method: "GET", path: "/openapi/v1/billing/apikey/bill/list", paid: false, idempotent: true },
  listKeyBudgets: { method: "GET", path: "/openapi/v1/user/team/key-budget-list", paid: false, idempotent: true },
} as const satisfies Record<string, OperationInfo>;

export type Operation = keyof typeof OPERATIONS;

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

/** How the service deletes an endpoint, as an account says (Account.spec.endpoints.deleteOperation). */
export type DeleteOperation = {
  method: "DELETE" | "POST" | "PUT" | "PATCH";
  /** `{id}` stands for the endpoint's identifier, unless `idField` is set. */
  path: string;
  /** Field that carries the identifier: in the JSON body, with DELETE in the query. */
  idField?: string | undefined;
};
