import { describe, expect, it } from "vitest";
import type { ClusterSession } from "../../../src/ui/cluster-session.ts";
import { tokenSessions } from "../../../src/ui/sessions.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function setUp(known: readonly string[] = ["alice", "bob"]) {
  const clock = createFakeClock();
  const closed: string[] = [];
  const opened: string[] = [];
  const verified: string[] = [];
  const watching = new Set<string>();
  const sessionFor = (token: string) =>
    ({ close: async () => void closed.push(token), watched: () => watching.has(token) }) as unknown as ClusterSession;
  const sessions = tokenSessions({
    open: (token) => {
      opened.push(token);
      return sessionFor(token);
    },
    verify: async (token) => {
      verified.push(token);
      return known.includes(token);
    },
    clock,
  });
  return { sessions, clock, closed, opened, verified, watching };
}

describe("sessions by bearer token", () => {
  it("each token has its own session, which the cluster verifies once", async () => {
    const { sessions, opened, verified } = setUp();
    const [first, again] = await Promise.all([sessions.of("Bearer alice"), sessions.of("bearer alice")]);
    const bob = await sessions.of("Bearer bob");
    expect(first).toBe(again);
    expect(bob).not.toBe(first);
    expect([opened, verified]).toEqual([
      ["alice", "bob"],
      ["alice", "bob"],
    ]);
  });

  it.each([undefined, "", "Basic YTpi", "Bearer "])("%j is no identity", async (authorization) => {
    const { sessions, verified } = setUp();
    await expect(sessions.of(authorization)).rejects.toMatchObject({ statusCode: 401 });
    expect(verified).toEqual([]);
  });

  it("a token that the cluster does not know opens nothing", async () => {
    const { sessions, opened } = setUp();
    await expect(sessions.of("Bearer mallory")).rejects.toMatchObject({ statusCode: 401 });
    expect(opened).toEqual([]);
  });

  it("a session without requests ends", async () => {
    const { sessions, clock, closed, opened } = setUp();
    await sessions.of("Bearer alice");
    await clock.advance(4 * 60_000);
    await sessions.of("Bearer alice");
    await clock.advance(4 * 60_000);
    expect(closed).toEqual([]);
    await clock.advance(2 * 60_000);
    expect(closed).toEqual(["alice"]);
    await sessions.of("Bearer alice");
    expect(opened).toEqual(["alice", "alice"]);
  });

  it("a session with an open page goes on", async () => {
    const { sessions, clock, closed, watching } = setUp();
    await sessions.of("Bearer alice");
    watching.add("alice");
    await clock.advance(60 * 60_000);
    expect(closed).toEqual([]);
    watching.delete("alice");
    await clock.advance(2 * 60_000);
    expect(closed).toEqual(["alice"]);
  });

  it("guessing tokens is limited", async () => {
    const { sessions } = setUp([]);
    const guesses = await Promise.allSettled(Array.from({ length: 10 }, (_, index) => sessions.of(`Bearer t${index}`)));
    const statuses = guesses.map((guess) => (guess.status === "rejected" ? guess.reason.statusCode : 200));
    expect(statuses.filter((status) => status === 429)).toHaveLength(6);
  });
});
