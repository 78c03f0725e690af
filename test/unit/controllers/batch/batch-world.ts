import { mediaBatchResource, speechJobResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { type MediaBatch, mediaBatchSpecSchema } from "../../../../src/api/v1alpha1/media-batch.ts";
import type { SpeechJob, SpeechJobStatus } from "../../../../src/api/v1alpha1/speech-job.ts";
import { ArtifactError } from "../../../../src/artifacts/errors.ts";
import type { ArtifactStoreHandle } from "../../../../src/artifacts/types.ts";
import { createStoreRegistry } from "../../../../src/controllers/artifact-store/registry.ts";
import { createBatchReconciler } from "../../../../src/controllers/batch/controller.ts";
import { maySend } from "../../../../src/controllers/batch/progress.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { batchOf } from "../../../../src/controllers/jobs/batch-owner.ts";
import type { KubeClient } from "../../../../src/kube/client.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import type { KubeObject } from "../../../../src/kube/types.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { type Change, manifest, merged } from "../../../support/manifests.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";
import { sharedOf } from "../../../support/shared.ts";
import { storedMeta } from "../../../support/stored-meta.ts";

const KEY = "team/book";
const context = { signal: new AbortController().signal, log: silentLog };

/** The process ends before or after its request with this number, from 1: to the API server or to the store. */
export type Kill = { at: number; moment: "Before" | "After" };

/** A batch with an API server and a store in memory. Its jobs end when the test says so. `change`: of its spec. */
export function batchWorld(change: Change = {}, kill?: Kill) {
  const clock = createFakeClock();
  const objects = new Map<string, KubeObject>();
  const files = new Map<string, string>();
  const writes: string[] = [];
  let version = 100;
  let most = 0;
  let requests = 0;
  let isDead = false;
  const path = (plural: string, name = "") => `${plural}/${name}`;

  /** A request of the process. */
  async function requested<T>(effect: () => T): Promise<T> {
    const isLast = ++requests === kill?.at;
    isDead ||= isLast && kill?.moment === "Before";
    if (isDead) throw new Error("the process was killed");
    const result = effect();
    isDead = isLast;
    if (isDead) throw new Error("the process was killed");
    return result;
  }
  function put(plural: string, object: KubeObject): KubeObject {
    version++;
    const uid = objects.get(path(plural, object.metadata.name))?.metadata.uid ?? `uid-${version}`;
    const next = { ...object, metadata: { uid, ...object.metadata, resourceVersion: String(version) } };
    objects.set(path(plural, object.metadata.name), next);
    return structuredClone(next);
  }
  function present(plural: string, name: string | undefined): KubeObject {
    const found = objects.get(path(plural, name));
    if (found === undefined) throw new KubeError(`${name} not found`, { status: 404, reason: "NotFound" });
    return structuredClone(found);
  }
  const jobs = () => [...objects.values()].filter(({ kind }) => kind === "SpeechJob") as SpeechJob[];

  type Place = { name: string };
  type Of = { plural: string };
  const client = {
    defaultNamespace: undefined,
    get: ({ plural }: Of, { name }: Place) => requested(() => present(plural, name)),
    async create({ plural }: Of, _place: Place, body: KubeObject) {
      if (plural === "events") return body;
      return requested(() => {
        writes.push(`create ${body.metadata.name}`);
        if (objects.has(path(plural, body.metadata.name))) {
          throw new KubeError("exists", { status: 409, reason: "AlreadyExists" });
        }
        const made = put(plural, { ...body, metadata: storedMeta({ ...body.metadata, uid: `uid-${version + 1}` }) });
        most = Math.max(most, jobs().length);
        return made;
      });
    },
    update: ({ plural }: Of, { name }: Place, body: KubeObject) =>
      requested(() => {
        const before = present(plural, name);
        if (before.metadata.resourceVersion !== body.metadata.resourceVersion) {
          throw new KubeError("changed", { status: 409, reason: "Conflict" });
        }
        writes.push(`status ${name}`);
        return put(plural, { ...before, status: structuredClone(body.status) });
      }),
    mergePatch: ({ plural }: Of, { name }: Place, patch: Change) =>
      requested(() => put(plural, merged({ ...present(plural, name) }, { ...patch }) as unknown as KubeObject)),
    delete: ({ plural }: Of, { name }: Place) =>
      requested(() => {
        present(plural, name);
        writes.push(`delete ${name}`);
        objects.delete(path(plural, name));
      }),
  } as unknown as KubeClient;

  const store = createStore<MediaBatch>();
  const resource = mediaBatchResource;
  put(resource.plural, {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "MediaBatch",
    metadata: storedMeta({ namespace: "team", name: "book" }),
    spec: mediaBatchSpecSchema.parse(manifest("batch", change).spec),
  });
  const stores = createStoreRegistry(() => true);
  stores.set("team/results", { state: { kind: "Ready" }, handle: storeOf(files, requested) });
  const account = { key: "Account/team/default", baseURL: "https://api.example.com", maxSpeechCharacters: 50_000 };
  const accounts = { resolve: async () => ({ kind: "Usable", account, ref: {} }), get: () => undefined };
  const shared = sharedOf(client, speechJobResource, { clock, accounts: accounts as never });
  const kind = createKind<MediaBatch>(client, { resource, store });
  const wiring = {
    stores,
    jobsOf: (uid: string) => jobs().filter(({ metadata }) => batchOf(metadata)?.uid === uid),
    enqueue: () => {},
    turn: () => undefined,
  };
  let reconciler = createBatchReconciler(shared, kind, wiring);
  const batch = () => present(resource.plural, "book") as MediaBatch;

  return {
    files,
    writes,
    batch,
    jobs,
    put,
    most: () => most,
    isDead: () => isDead,
    /** A new process: nothing is remembered. */
    restart() {
      isDead = false;
      reconciler = createBatchReconciler(shared, kind, wiring);
    },
    /** One reconcile, after the pause between two rounds, and after a check of the items that it began. */
    async reconcile(afterMs = 1_100) {
      await clock.advance(afterMs);
      store.upsert(batch());
      await reconciler.reconcile({ key: KEY, namespace: "team", name: "book" }, context);
      await clock.advance(0);
    },
    /** What the job controller does for a job that may send. */
    end(name: string, status: Partial<SpeechJobStatus>) {
      const job = present(speechJobResource.plural, name) as SpeechJob;
      put(speechJobResource.plural, { ...job, status: { conditions: [], ...status } });
    },
    /** The jobs that may send, and have not ended. */
    running: () =>
      jobs().filter(
        ({ metadata, status }) =>
          status?.phase === undefined && maySend(batch().status, batchOf(metadata)?.index ?? -1),
      ),
    remove: (name: string) => objects.delete(path(speechJobResource.plural, name)),
    /** A user deletes the batch, and the process hears of it. */
    async removeBatch() {
      store.remove(batch());
      objects.delete(path(resource.plural, "book"));
      await reconciler.reconcile({ key: KEY, namespace: "team", name: "book" }, context);
    },
    partsOf: () => [...files.keys()].filter((key) => key.startsWith(".mooring/batches/")),
  };
}

type Requested = <T>(effect: () => T) => Promise<T>;

/** A store of small texts. `requested`: how it is asked. */
export function storeOf(
  files: Map<string, string>,
  requested: Requested = async (effect) => effect(),
): ArtifactStoreHandle {
  return {
    checkKey: () => {},
    async read(key: string, { start, version }: { start: number; version?: string }) {
      const text = await requested(() => files.get(key));
      if (text === undefined) throw new ArtifactError("NotFound", `${key} does not exist`);
      if (version !== undefined && version !== text) throw new ArtifactError("SourceChanged", `${key} has changed`);
      const bytes = Buffer.from(text);
      async function* chunks() {
        yield bytes.subarray(start);
      }
      return {
        totalBytes: bytes.length,
        start,
        end: bytes.length,
        version: text,
        chunks: chunks(),
        close: async () => {},
      };
    },
    remove: (key: string) => requested(() => void files.delete(key)),
    async writer(key: string) {
      let text = "";
      return {
        write: async (chunk: Uint8Array) => {
          text += Buffer.from(chunk).toString();
        },
        commit: async () => {
          await requested(() => files.set(key, text));
          return { uri: `memory://${key}`, bytes: text.length, sha256: "0" };
        },
        discard: async () => {},
      };
    },
  } as unknown as ArtifactStoreHandle;
}
