import { createHash } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import type { ClusterSession } from "./cluster-session.ts";
import { RequestError } from "./request-error.ts";

/** Gives each request the cluster as its user sees it. */
export type Sessions = {
  /** @param authorization the request's header. @throws RequestError without an identity that the cluster knows */
  of(authorization: string | undefined): Promise<ClusterSession>;
  close(): Promise<void>;
};

/** One user for all requests: the owner of the kubeconfig, or the pod's service account. */
export function singleSession(session: ClusterSession): Sessions {
  return { of: async () => session, close: session.close };
}

export type TokenSessionsOptions = {
  /** Opens the cluster for the owner of a token. */
  open(token: string): ClusterSession;
  /** Whether the cluster knows the token. Rejects when it does not answer. */
  verify(token: string): Promise<boolean>;
  clock: Clock;
};

/** Users at the same time: each has their own watches. */
const MAX_SESSIONS = 50;
/** Tokens that are verified at once: guessing must not take the API server's time from others. */
const MAX_VERIFICATIONS = 4;
/** A session without requests, and without an open page, ends after this time, ms. */
const IDLE_MS = 5 * 60_000;

/** A session for each token. Tokens are kept as hashes only. */
export function tokenSessions({ open, verify, clock }: TokenSessionsOptions): Sessions {
  type Entry = { session: ClusterSession; usedAt: number };
  const sessions = new Map<string, Entry>();
  const opening = new Map<string, Promise<ClusterSession>>();
  let cancelSweep = () => {};

  function sweep(): void {
    for (const [key, { session, usedAt }] of sessions) {
      if (session.watched() || clock.monotonic() - usedAt < IDLE_MS) continue;
      sessions.delete(key);
      void session.close();
    }
    cancelSweep = sessions.size === 0 ? () => {} : clock.setTimeout(sweep, IDLE_MS / 5);
  }

  async function begin(token: string, key: string): Promise<ClusterSession> {
    try {
      if (!(await verify(token))) throw new RequestError(401, "The cluster does not accept the token of this request");
      const session = open(token);
      sessions.set(key, { session, usedAt: clock.monotonic() });
      if (sessions.size === 1) cancelSweep = clock.setTimeout(sweep, IDLE_MS / 5);
      return session;
    } finally {
      opening.delete(key);
    }
  }

  return {
    async of(authorization) {
      const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
      if (token === undefined) throw new RequestError(401, "The request has no bearer token of the cluster");
      const key = createHash("sha256").update(token).digest("base64");
      const known = sessions.get(key);
      if (known !== undefined) {
        known.usedAt = clock.monotonic();
        return known.session;
      }
      const under = opening.get(key);
      if (under !== undefined) return under;
      if (sessions.size >= MAX_SESSIONS) throw new RequestError(503, "Too many users: try again in some minutes");
      if (opening.size >= MAX_VERIFICATIONS) throw new RequestError(429, "Too many sign-ins at once: try again");
      const started = begin(token, key);
      opening.set(key, started);
      return started;
    },
    async close() {
      cancelSweep();
      await Promise.all([...sessions.values()].map(({ session }) => session.close()));
      sessions.clear();
    },
  };
}
