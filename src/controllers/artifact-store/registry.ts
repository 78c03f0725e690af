import type { Reason } from "../../api/v1alpha1/reasons.ts";
import type { ArtifactStoreHandle } from "../../artifacts/types.ts";

/** `NAMESPACE/NAME`: the key of the object. */
export type StoreKey = string;

export type StoreState =
  /** Not tried yet since the operator started or the spec changed. */
  | { kind: "Checking" }
  /** `full`: it takes no results of new jobs. Dependants are told of a change. */
  | { kind: "Ready"; full?: boolean }
  /** Nothing can be stored; `message` is shown on every dependant. */
  | { kind: "Held"; reason: Reason; message: string };

export type StoreEntry = { state: StoreState; handle: ArtifactStoreHandle | undefined };

export type ResolvedStore =
  | { kind: "Usable"; store: ArtifactStoreHandle }
  /** Not known yet, for a moment after a start or a change; dependants are told when it is. */
  | { kind: "Checking" }
  /** Nothing can be stored now. */
  | { kind: "Held"; reason: Reason; message: string };

/** What ArtifactStores exist, which can be used, and who wants to hear when that changes. */
export type StoreRegistry = {
  /** The store that an object in `namespace` means by `output.storeRef`. */
  resolve(namespace: string, storeRef: { name: string }): ResolvedStore;
  set(key: StoreKey, entry: StoreEntry): void;
  get(key: StoreKey): StoreEntry | undefined;
  remove(key: StoreKey): StoreEntry | undefined;
  entries(): Iterable<[StoreKey, StoreEntry]>;
  /** Called when a store becomes usable, is held, replaced or gone. */
  onChange(listener: (key: StoreKey) => void): void;
};

export function storeKey(namespace: string, name: string): StoreKey {
  return `${namespace}/${name}`;
}

/** What is wrong when there is no store with the key. */
export function missingStore(key: StoreKey): string {
  return `ArtifactStore ${key} does not exist: create it, or name another one in storeRef; to change the storeRef of a job, delete the job and create it again`;
}

/** @param exists whether an ArtifactStore of this key is in the cluster */
export function createStoreRegistry(exists: (key: StoreKey) => boolean): StoreRegistry {
  const entries = new Map<StoreKey, StoreEntry>();
  const listeners: ((key: StoreKey) => void)[] = [];
  const tell = (key: StoreKey) => {
    for (const listener of listeners) listener(key);
  };

  return {
    get: (key) => entries.get(key),
    entries: () => entries,
    onChange: (listener) => void listeners.push(listener),
    set(key, entry) {
      const previous = entries.get(key);
      entries.set(key, entry);
      if (previous?.handle !== entry.handle || !sameState(previous?.state, entry.state)) tell(key);
    },
    remove(key) {
      const entry = entries.get(key);
      if (entries.delete(key)) tell(key);
      return entry;
    },
    resolve(namespace, { name }) {
      const key = storeKey(namespace, name);
      if (!exists(key)) {
        return { kind: "Held", reason: "StoreNotReady", message: missingStore(key) };
      }
      const entry = entries.get(key);
      if (entry?.state.kind === "Ready" && entry.handle !== undefined) return { kind: "Usable", store: entry.handle };
      if (entry?.state.kind !== "Held") return { kind: "Checking" };
      return {
        kind: "Held",
        reason: "StoreNotReady",
        message: `ArtifactStore ${key} is not ready: ${entry.state.message}`,
      };
    },
  };
}

function sameState(a: StoreState | undefined, b: StoreState): boolean {
  if (a?.kind !== b.kind) return false;
  if (a.kind === "Ready" && b.kind === "Ready") return (a.full ?? false) === (b.full ?? false);
  return a.kind !== "Held" || b.kind !== "Held" || (a.reason === b.reason && a.message === b.message);
}
