import { createRandom } from "../../../src/simulator/random.ts";
import { hashText } from "../engine/scheduler.ts";
import type { ObjectPlan } from "./objects.ts";

/** A user stores an object. */
export type Upload = { do: "upload"; namespace: string; key: string };

/** Videos with inputs and the jobs whose results they take, and what users do with these. */
export type InputsPlan = {
  objects: readonly ObjectPlan[];
  actions: readonly ({ at: number } & (Upload | { do: "delete"; serial: number }))[];
};

/** Serials follow those of objects and items with a distance. */
const FIRST_SERIAL = 2_000;
const REUSE = { stored: true, reuse: true } as const;

/**
 * In a quarter of the seeds, videos with inputs: a speech, a video of it, a video of that one, and videos from objects of a bucket, with the
 * same names in both namespaces. A sequence of its own decides, so that the rest of a plan does not depend on it.
 */
export function planInputs(purpose: string, chaosMs: number): InputsPlan {
  const random = createRandom(hashText(`inputs ${purpose}`));
  const chance = (probability: number) => random.next() < probability;
  const objects: ObjectPlan[] = [];
  const actions: InputsPlan["actions"][number][] = [];
  if (!chance(0.25)) return { objects, actions };
  const at = random.between(0, chaosMs * 0.5);
  /** Before the source, with it, or after it. */
  const near = () => Math.round(Math.max(0, at + random.between(-20_000, 60_000)));

  for (const namespace of chance(0.5) ? ["team-a", "team-b"] : ["team-b"]) {
    const add = (job: Pick<ObjectPlan, "kind" | "name"> & Partial<ObjectPlan>): ObjectPlan => {
      const added = { serial: FIRST_SERIAL + objects.length, namespace, at: near(), stored: chance(0.5), ...job };
      objects.push(added);
      return added;
    };
    const how = chance(0.35) ? REUSE : { fails: chance(0.25), backoffLimit: chance(0.3) ? 1 : 0 };
    const words = add({ kind: "SpeechJob", name: "words", at: Math.round(at), ...how });
    if (chance(0.5)) {
      const gone = near();
      actions.push({ at: gone, do: "delete", serial: words.serial });
      // Its successor sends something else, unless it takes what the store has.
      add({ kind: "SpeechJob", name: "words", ...(how === REUSE ? words : {}), at: gone + 10_000 });
    }
    // A video of the same name as its source: the kind tells them apart.
    add({ kind: "VideoJob", name: "words", input: { from: "Job", kind: "SpeechJob", name: "words" } });
    if (chance(0.5)) add({ kind: "VideoJob", name: "again", input: { from: "Job", kind: "VideoJob", name: "words" } });
    for (const from of ["Image", "Audio"] as const) {
      if (chance(0.4)) continue;
      const input = { from, key: `media/${from}` } as const;
      if (chance(0.9)) actions.push({ at: chance(0.6) ? 0 : near(), do: "upload", namespace, key: input.key });
      add({
        kind: "VideoJob",
        name: `of-${from.toLowerCase()}`,
        input,
        ...(chance(0.5) ? { ...REUSE, ttlSeconds: 20 } : {}),
      });
    }
  }
  return { objects, actions };
}
