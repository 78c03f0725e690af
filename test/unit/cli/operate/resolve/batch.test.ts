import { describe, expect, it } from "vitest";
import { mediaBatchSpecSchema } from "../../../../../src/api/v1alpha1/media-batch.ts";
import { ANNOTATIONS } from "../../../../../src/api/v1alpha1/meta.ts";
import type { SpeechJob } from "../../../../../src/api/v1alpha1/speech-job.ts";
import { actOnAll } from "../../../../../src/cli/operate/resolve/batch.ts";
import { childOf } from "../../../../../src/controllers/batch/child.ts";
import type { KubeClient } from "../../../../../src/kube/client.ts";
import { createFakeClock } from "../../../../support/fake-clock.ts";
import { manifest } from "../../../../support/manifests.ts";
import { storedMeta } from "../../../../support/stored-meta.ts";

const ITEMS = 100;
/** The command looks so often whether the operator has answered, ms. */
const LOOK_MS = 500;

const batch = {
  apiVersion: "mooring.dev/v1alpha1",
  kind: "MediaBatch",
  metadata: storedMeta({ name: "book", uid: "uid-of-book" }),
  spec: mediaBatchSpecSchema.parse(manifest("batch").spec),
};

/** An operator that answers an annotation when the command has looked `looks` times. */
function setUp(looks: number) {
  const jobs = new Map(
    Array.from({ length: ITEMS }, (_, index) => {
      const child = childOf(batch, { index, line: index + 1, name: undefined, patch: { text: "a" } } as never);
      const status = { conditions: [], phase: "Halted" };
      const job = { ...child, metadata: storedMeta({ ...child.metadata, uid: `uid-${index}` }), status };
      return [child.metadata.name, job as unknown as SpeechJob];
    }),
  );
  const seen = new Map<string, number>();
  const jobAt = (name: string) => jobs.get(name) as SpeechJob;
  const kube = {
    list: async () => ({ items: [...jobs.values()] }),
    async mergePatch(_: unknown, { name }: { name: string }, { metadata }: Pick<SpeechJob, "metadata">) {
      jobs.set(name, {
        ...jobAt(name),
        metadata: { ...jobAt(name).metadata, annotations: metadata.annotations ?? {} },
      });
    },
    async get(_: unknown, { name }: { name: string }) {
      seen.set(name, (seen.get(name) ?? 0) + 1);
      const token = jobAt(name).metadata.annotations?.[ANNOTATIONS.resubmitToken];
      const isAnswered = (seen.get(name) ?? 0) > looks && token !== undefined;
      return isAnswered
        ? { ...jobAt(name), status: { ...jobAt(name).status, lastHandledResubmitToken: token } }
        : jobAt(name);
    },
    delete: async (_: unknown, { name }: { name: string }) => void jobs.delete(name),
  } as unknown as KubeClient;
  const clock = createFakeClock();
  const decided = async (kind: "Resubmit" | "GiveUp") => {
    const done = actOnAll(kube, batch, { kind }, { timeoutMs: 10_000, clock });
    const settled = done.catch(() => undefined);
    let isOver = false;
    void settled.then(() => (isOver = true));
    while (!isOver) await clock.advance(LOOK_MS);
    return done;
  };
  return { jobs, decided, timers: clock.timers };
}

describe("one decision for all halted jobs of a batch", () => {
  it("releases all, although together they take longer than the operator may be silent", async () => {
    const { jobs, decided, timers } = setUp(10);
    expect(await decided("Resubmit")).toBe(
      `${ITEMS} halted jobs of MediaBatch team/book are released: each sends its request again, which may be paid for twice`,
    );
    const tokens = [...jobs.values()].map(({ metadata }) => metadata.annotations?.[ANNOTATIONS.resubmitToken]);
    expect(tokens.every((token) => token !== undefined)).toBe(true);
    expect(timers()).toBe(0);
  });

  it("is set for all when no operator answers, and says so once the operator was silent for the timeout", async () => {
    const { jobs, decided, timers } = setUp(Number.POSITIVE_INFINITY);
    await expect(decided("Resubmit")).rejects.toThrow(
      new RegExp(`^${ITEMS} of ${ITEMS} jobs of MediaBatch team/book were not resolved: .*no operator has answered`),
    );
    const tokens = [...jobs.values()].map(({ metadata }) => metadata.annotations?.[ANNOTATIONS.resubmitToken]);
    expect(tokens.every((token) => token !== undefined)).toBe(true);
    expect(timers()).toBe(0);
  });

  it("gives up all of them", async () => {
    const { jobs, decided } = setUp(0);
    expect(await decided("GiveUp")).toBe(
      `${ITEMS} halted jobs of MediaBatch team/book are deleted: their items failed`,
    );
    expect(jobs.size).toBe(0);
  });
});
