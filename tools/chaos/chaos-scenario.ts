import { setTimeout as sleep } from "node:timers/promises";
import type { KubeClient } from "../../src/kube/client.ts";
import { isAlreadyExists } from "../../src/kube/errors.ts";
import type { Resource } from "../../src/kube/resource.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { createRandom } from "../../src/simulator/random.ts";

export type Operation = { atMs: number; name: string; verb: "create" | "change" | "delete" };

export const PREFIX = "chaos-";

/**
 * Each object is created in the first 40 % of the time and changed one to five times; a third is deleted at last, and a
 * sixth in between, to be created anew under its name at once. Ordered by time.
 */
export function planOperations(options: { objects: number; durationMs: number; seed: number }): Operation[] {
  const random = createRandom(options.seed);
  const { durationMs } = options;
  const operations: Operation[] = [];
  for (let index = 0; index < options.objects; index++) {
    const name = `${PREFIX}${index}`;
    const begin = random.next() * 0.4;
    const changes = 1 + Math.floor(random.next() * 5);
    const verbs: Operation["verb"][] = Array.from({ length: changes }, () => "change");
    const fate = random.next();
    if (fate < 1 / 3) verbs.push("delete");
    else if (fate < 1 / 2) verbs.splice(Math.floor(random.next() * changes), 0, "delete", "create");
    const times = verbs.map(() => begin + random.next() * (1 - begin)).sort((a, b) => a - b);
    operations.push({ atMs: begin * durationMs, name, verb: "create" });
    verbs.forEach((verb, i) => {
      operations.push({ atMs: (times[i] ?? 1) * durationMs, name, verb });
    });
  }
  return operations.sort((a, b) => a.atMs - b.atMs);
}

/** Carries a plan out in time; the operations of one object follow each other. */
export async function runOperations(
  plan: readonly Operation[],
  apply: (operation: Operation) => Promise<void>,
): Promise<void> {
  const started = performance.now();
  const last = new Map<string, Promise<void>>();
  for (const operation of plan) {
    const wait = operation.atMs - (performance.now() - started);
    if (wait > 0) await sleep(wait);
    const next = (last.get(operation.name) ?? Promise.resolve()).then(() => apply(operation));
    next.catch(() => undefined); // awaited below, maybe much later
    last.set(operation.name, next);
  }
  await Promise.all(last.values());
}

type Named = Pick<KubeObject, "metadata">;

export const versionOf = ({ metadata }: Named): string => `${metadata.uid}@${metadata.resourceVersion}`;

/** What was written to the API server, told by its answers. */
export type Truth = {
  /** Name to version of each object that is left. */
  alive: Map<string, string>;
  /** Every version that was written. */
  versions: Set<string>;
  /** UIDs. */
  deleted: Set<string>;
};

/** @param build the object as it is after so many writes to it, from 1 on */
export function createWriter(options: {
  client: KubeClient;
  resource: Resource;
  namespace: string;
  build: (name: string, round: number) => KubeObject & { data?: Record<string, string> };
}): { truth: Truth; write(operation: Operation): Promise<void> } {
  const { client, resource, namespace } = options;
  const truth: Truth = { alive: new Map(), versions: new Set(), deleted: new Set() };
  const rounds = new Map<string, number>();

  const wrote = (object: KubeObject) => {
    truth.alive.set(object.metadata.name, versionOf(object));
    truth.versions.add(versionOf(object));
  };
  /** The former object of the name may still wait for its finalizers. */
  async function create(object: KubeObject): Promise<KubeObject> {
    for (;;) {
      try {
        return await client.create(resource, { namespace }, object);
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        await sleep(200);
      }
    }
  }

  return {
    truth,
    async write({ name, verb }) {
      if (verb === "delete") {
        truth.deleted.add(uidOf(truth.alive.get(name) ?? ""));
        truth.alive.delete(name);
        return client.delete(resource, { namespace, name });
      }
      const round = (rounds.get(name) ?? 0) + 1;
      rounds.set(name, round);
      const object = options.build(name, round);
      wrote(await (verb === "create" ? create(object) : client.mergePatch(resource, { namespace, name }, object)));
    },
  };
}

/** What an informer told its handlers, and what its cache holds. */
export type Sightings = {
  versions: string[];
  deleted: string[];
  ghosts: string[];
  cache: [name: string, version: string][];
};

export type Verdict = {
  /** Names whose cached version is not the API server's. */
  wrong: string[];
  /** Versions that no handler was shown; a new list shows the last one only. */
  unseen: string[];
  /** Last versions of objects that are left, which no handler was shown. */
  missed: string[];
  /** Objects that were shown and deleted, of which no handler was told that they are gone. */
  deletionsMissed: string[];
  /** Deleted objects that were shown again after their deletion had been told. */
  ghosts: string[];
};

export function judge(truth: Truth, sightings: Sightings): Verdict {
  const cache = new Map(sightings.cache);
  const names = new Set([...truth.alive.keys(), ...cache.keys()]);
  const shown = new Set(sightings.versions);
  const uids = new Set(sightings.versions.map(uidOf));
  const told = new Set(sightings.deleted);
  return {
    wrong: [...names].filter((name) => truth.alive.get(name) !== cache.get(name)),
    unseen: [...truth.versions].filter((version) => !shown.has(version)),
    missed: [...truth.alive.values()].filter((version) => !shown.has(version)),
    deletionsMissed: [...truth.deleted].filter((uid) => uids.has(uid) && !told.has(uid)),
    ghosts: sightings.ghosts,
  };
}

/** What an informer's handlers call; keeps what `judge` wants to know. */
export function createSightings() {
  const versions = new Set<string>();
  const deleted = new Set<string>();
  const ghosts = new Set<string>();
  const current = new Map<string, string>();
  return {
    shown(object: Named): void {
      if (!object.metadata.name.startsWith(PREFIX)) return;
      if (deleted.has(object.metadata.uid ?? "")) ghosts.add(object.metadata.uid ?? "");
      // Another object under the same name says that the former one is gone.
      const before = current.get(object.metadata.name);
      if (before !== undefined && before !== object.metadata.uid) deleted.add(before);
      current.set(object.metadata.name, object.metadata.uid ?? "");
      versions.add(versionOf(object));
    },
    gone(object: Named): void {
      if (!object.metadata.name.startsWith(PREFIX)) return;
      deleted.add(object.metadata.uid ?? "");
      current.delete(object.metadata.name);
    },
    /** @param objects what the cache holds now */
    report(objects: Iterable<Named>): Sightings {
      const own = [...objects].filter(({ metadata }) => metadata.name.startsWith(PREFIX));
      return {
        versions: [...versions],
        deleted: [...deleted],
        ghosts: [...ghosts],
        cache: own.map((object) => [object.metadata.name, versionOf(object)]),
      };
    },
  };
}

function uidOf(version: string): string {
  return version.slice(0, version.indexOf("@"));
}
