/** A request that the page cannot have. The message is for the user, and holds no secret. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  /** HTTP status. */
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}
