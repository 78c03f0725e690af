import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { streamChanges } from "../../../src/ui/changes.ts";
import type { ClusterSession, ObjectName } from "../../../src/ui/cluster-session.ts";
import type { SessionState } from "../../../src/ui/view-types.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const STATE: SessionState = {
  version: "1",
  readOnly: undefined,
  namespaces: [],
  kinds: [],
  synced: true,
  disconnectedSince: undefined,
};

function setUp() {
  const clock = createFakeClock();
  const response = new PassThrough({ encoding: "utf8" });
  let listener: (changed: ObjectName | undefined) => void = () => {};
  const subscribe: ClusterSession["subscribe"] = (added) => {
    listener = added;
    return () => {};
  };
  streamChanges(response, { session: { subscribe } as ClusterSession, state: () => STATE, clock });
  response.read();
  return {
    clock,
    change: (name: string) => listener({ kind: "SpeechJob", namespace: "team", name }),
    /** The names of each message about changes since the last call. */
    messages: () =>
      [...String(response.read() ?? "").matchAll(/^event: change\ndata: (.*)$/gm)].map(([, data = ""]) =>
        JSON.parse(data).keys.map((key: string) => key.split("/")[2]),
      ),
  };
}

describe("the stream of changes", () => {
  it("tells of a change after a quiet time at once, with those that come with it", async () => {
    const { clock, change, messages } = setUp();
    await clock.advance(5_000);
    change("a");
    await clock.advance(10);
    change("b");
    await clock.advance(10);
    expect(messages()).toEqual([["a", "b"]]);
  });

  it("collects the rest of a burst, so that it is a message every 250 ms", async () => {
    const { clock, change, messages } = setUp();
    await clock.advance(5_000);
    for (let count = 0; count < 50; count++) {
      change(`job-${count}`);
      await clock.advance(10);
    }
    await clock.advance(250);
    const sizes = messages().map((keys) => keys.length);
    expect(sizes).toHaveLength(3);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(50);
  });
});
