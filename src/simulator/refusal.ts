/** A request that the service refuses. Assumption: the response body is `{code, reason, message, metadata}`. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }

  /** Whether the endpoint or task of the request does not exist. */
  get isNotFound(): boolean {
    return this.reason.endsWith("_NOT_FOUND");
  }
}

export function refusalBody(status: number, reason: string, message: string) {
  return { code: status, reason, message, metadata: {} };
}

/** Assumption: statuses and reasons of refusals. The interface shows none. */
export const refuse = {
  unauthorized: () => new Refusal(401, "INVALID_API_KEY", "the API key is missing or invalid"),
  invalid: (message: string) => new Refusal(400, "INVALID_REQUEST_PARAMETER", message),
  forbidden: (operation: string) => new Refusal(403, "PERMISSION_DENIED", `the key may not call ${operation}`),
  endpointNotFound: (id: string) => new Refusal(400, "SERVERLESS_ENDPOINT_NOT_FOUND", `endpoint ${id} does not exist`),
  taskNotFound: (id: string) => new Refusal(400, "RESOURCE_NOT_FOUND", `task ${id} does not exist`),
  appNameTaken: (name: string) => new Refusal(400, "APP_NAME_ALREADY_EXISTS", `appName ${name} is already in use`),
  notEntitled: () =>
    new Refusal(403, "NEED_REAL_NAME_VERIFY", "enterprise identity verification is required for video generation"),
  noBalance: () => new Refusal(403, "NOT_ENOUGH_BALANCE", "the balance of the account is too low"),
  overBudget: () => new Refusal(403, "QUOTA_EXCEEDED", "the budget of the API key is used up"),
};
