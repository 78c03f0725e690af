import type { Json } from "./json.ts";

/** A response of the API server that is no object. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/** metav1.Status. */
export function statusBody({ status, reason, message }: Pick<ApiFailure, "status" | "reason" | "message">): Json {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code: status };
}

export const failure = {
  notFound: (what: string) => new ApiFailure(404, "NotFound", `${what} not found`),
  exists: (what: string) => new ApiFailure(409, "AlreadyExists", `${what} already exists`),
  conflict: (what: string) =>
    new ApiFailure(
      409,
      "Conflict",
      `Operation cannot be fulfilled on ${what}: the object has been modified; please apply your changes to the latest version and try again`,
    ),
  invalid: (what: string, problems: readonly string[]) =>
    new ApiFailure(422, "Invalid", `${what} is invalid: ${problems.join("; ")}`),
  expired: (message: string) => new ApiFailure(410, "Expired", message),
  badRequest: (message: string) => new ApiFailure(400, "BadRequest", message),
};
