import type { ErrorView } from "../view-types.ts";
import { authorization, forgetToken } from "./sign-in.ts";

/** The server refused, or did not answer. The message is for the user. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status, 0 when no answer came. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reads JSON from the page's own server. @throws ApiError */
export function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return send<T>(path, signal === undefined ? {} : { signal });
}

/** @throws ApiError */
export function postJson<T>(path: string, body: object): Promise<T> {
  return send<T>(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function send<T>(path: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers: { ...init.headers, ...authorization() } });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "The page's server does not respond");
  }
  if (response.status === 401) forgetToken();
  if (!response.ok) throw new ApiError(response.status, await messageOf(response));
  return response.json();
}

async function messageOf(response: Response): Promise<string> {
  try {
    const { error }: ErrorView = await response.json();
    return error;
  } catch {
    return `The page's server answers HTTP ${response.status}`;
  }
}

/** Path of an object in the API and in links: a cluster-scoped object has the namespace `-`. */
export function objectPath({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return [kind, namespace === "" ? "-" : namespace, name].map(encodeURIComponent).join("/");
}
