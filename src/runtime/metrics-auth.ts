import { createHash } from "node:crypto";
import type { Logger } from "pino";
import type { Clock } from "../base/clock.ts";
import type { KubeClient } from "../kube/client.ts";
import { apiVersionOf, type Resource, resourceV1 } from "../kube/resource.ts";
import type { KubeObject } from "../kube/types.ts";
import type { Access, HttpReply, RequestCheck } from "./http.ts";

const tokenReviews = resourceV1("authentication.k8s.io", "TokenReview", "tokenreviews", false);
const accessReviews = resourceV1("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews", false);

type User = { username?: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
type TokenReview = KubeObject<{ token: string }, { authenticated?: boolean; user?: User }>;
type AccessReview = KubeObject<object, { allowed?: boolean }>;

/** How long an answer of the API server is cached. */
const ALLOWED_MS = 10_000;
const REFUSED_MS = 2_000;
/** Concurrent reviews: guessed tokens must not slow down the controllers at the API server. */
const MAX_REVIEWS = 4;
const MAX_REMEMBERED = 1_000;
const REVIEW_TIMEOUT_MS = 10_000;

const UNAUTHORIZED: HttpReply = { status: 401, headers: { "www-authenticate": "Bearer" }, body: "Unauthorized\n" };
const BUSY: HttpReply = {
  status: 429,
  headers: { "retry-after": "1" },
  body: "too many token reviews, try again later\n",
};

/**
 * Allows a page to owners of a bearer token that the API server knows (TokenReview) and who may use its non-resource URL, such as
 * `get` /metrics (SubjectAccessReview), as controller-runtime's WithAuthenticationAndAuthorization. Answers: 401 without a good
 * token, 403 without the permission, 429 while too many unknown tokens are being reviewed, 503 when the API server cannot
 * answer. Needs `create` on both reviews (ClusterRole system:auth-delegator). Tokens are kept as hashes only.
 */
export function createTokenReviewGate({
  client,
  clock,
  log,
}: {
  client: KubeClient;
  clock: Clock;
  log: Logger;
}): RequestCheck {
  type Verdict = { refusal: HttpReply | undefined; until: number };
  const verdicts = new Map<string, Verdict>();
  const running = new Map<string, Promise<HttpReply | undefined>>();

  async function review(token: string, access: Access, key: string): Promise<HttpReply | undefined> {
    try {
      const refusal = await judge(client, token, access);
      if (verdicts.size >= MAX_REMEMBERED) verdicts.delete(verdicts.keys().next().value ?? "");
      verdicts.set(key, { refusal, until: clock.monotonic() + (refusal === undefined ? ALLOWED_MS : REFUSED_MS) });
      return refusal;
    } catch (error) {
      log.warn(
        { reason: error instanceof Error ? error.message : String(error) },
        "request of the metrics port not reviewed",
      );
      return { status: 503, body: "the API server cannot be asked who this is\n" };
    } finally {
      running.delete(key);
    }
  }

  return async (authorization, access) => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined) return UNAUTHORIZED;
    const key = `${createHash("sha256").update(token).digest("base64")} ${access.verb} ${access.path}`;
    const known = verdicts.get(key);
    if (known !== undefined && clock.monotonic() < known.until) return known.refusal;
    verdicts.delete(key);
    const under = running.get(key);
    if (under !== undefined) return under;
    if (running.size >= MAX_REVIEWS) return BUSY;
    const started = review(token, access, key);
    running.set(key, started);
    return started;
  };
}

async function judge(client: KubeClient, token: string, access: Access): Promise<HttpReply | undefined> {
  const options = { signal: AbortSignal.timeout(REVIEW_TIMEOUT_MS) };
  const of = (resource: Resource) => ({
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name: "" },
  });
  const body: TokenReview = { ...of(tokenReviews), spec: { token } };
  const { status } = await client.create<TokenReview>(tokenReviews, {}, body, options);
  if (status?.authenticated !== true) return UNAUTHORIZED;
  const { username, uid, groups, extra } = status.user ?? {};
  const question: AccessReview = {
    ...of(accessReviews),
    spec: { user: username, uid, groups, extra, nonResourceAttributes: access },
  };
  const answer = await client.create<AccessReview>(accessReviews, {}, question, options);
  if (answer.status?.allowed === true) return undefined;
  return { status: 403, body: `Forbidden: "${username}" may not ${access.verb} the non-resource URL ${access.path}\n` };
}
