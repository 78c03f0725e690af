import type { ErrorView, ManifestProblemView } from "../view-types.ts";
import { authorization, forgetToken } from "./sign-in.ts";

/** The server refused, or did not answer. The message is for the user. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status, 0 when no answer came. */
  readonly status: number;
  /** What the API server refuses, by field. */
  readonly problems: readonly ManifestProblemView[];

  constructor(status: number, { error, problems = [] }: ErrorView) {
    super(error);
    this.status = status;
    this.problems = problems;
  }
}

/** Reads JSON from the page's own server. @throws ApiError */
export function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  return send<T>(path, signal === undefined ? {} : { signal });
}

/** @throws ApiError */
export function postJson<T>(path: string, body: object, method: "POST" | "PUT" = "POST"): Promise<T> {
  return send<T>(path, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function send<T>(path: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    // An auth proxy answers 401 to what asks for JSON; everything else it would redirect to the sign-in.
    const headers = { accept: "application/json", ...init.headers, ...authorization() };
    response = await fetch(path, { ...init, headers });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, { error: "The page's server does not respond" });
  }
  if (response.status === 401) forgetToken();
  if (!response.ok) throw new ApiError(response.status, await problemOf(response));
  return response.json();
}

/** Why a request failed, for the user. */
export function messageOf(error: unknown): string {
  return error instanceof ApiError ? error.message : String(error);
}

async function problemOf(response: Response): Promise<ErrorView> {
  const said: Partial<ErrorView> = await response.json().catch(() => ({}));
  if (typeof said.error === "string") return { ...said, error: said.error };
  // The words of a proxy, which are not for the user.
  if (response.status === 401) return { error: "Your sign-in has ended: load this page again" };
  return { error: `The page's server answers HTTP ${response.status}` };
}

/** Path of an object in the API and in links: a cluster-scoped object has the namespace `-`. */
export function objectPath({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return [kind, namespace === "" ? "-" : namespace, name].map(encodeURIComponent).join("/");
}
