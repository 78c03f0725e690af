import { setTimeout } from "node:timers/promises";
import {
  accountResource,
  billReportResource,
  gpuEndpointResource,
  speechJobResource,
  videoJobResource,
} from "../../../src/api/v1alpha1/kinds.ts";
import type { KubeClient, KubeQuery } from "../../../src/kube/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { configMapResource, namespaceResource, type Resource } from "../../../src/kube/resource.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { leaseResource } from "../../../src/runtime/lease.ts";
import { manifest } from "../../support/manifests.ts";
import { type Json, parseJson } from "../api-server/json.ts";

/** What a case does in a namespace of its own. It returns what the API server showed. */
export type ConformanceCase = { name: string; run: (world: CaseWorld) => Promise<unknown> };

type AnyObject = KubeObject<unknown, unknown> & { data?: Record<string, string> };

export type CaseWorld = {
  kube: KubeClient;
  namespace: string;
};

const PAUSED = { metadata: { annotations: { "mooring.dev/paused": "true" } } };

/** The status and reason of a refused request, or what the request returned. */
async function outcome<T>(request: Promise<T>): Promise<T | string> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof KubeError) return `${error.status} ${error.reason}`;
    throw error;
  }
}

/** Whether a write stored a new version. */
const isNewVersion = (before: KubeObject, after: KubeObject) =>
  Number(after.metadata.resourceVersion) > Number(before.metadata.resourceVersion);

function inNamespace({ kube, namespace }: CaseWorld, resource: Resource) {
  return {
    create: (body: object) => kube.create<AnyObject>(resource, { namespace }, asObject(body)),
    get: (name: string) => kube.get<AnyObject>(resource, { namespace, name }),
    update: (name: string, body: AnyObject) => kube.update<AnyObject>(resource, { namespace, name }, body),
    patch: (name: string, patch: object, subresource?: string) =>
      kube.mergePatch<AnyObject>(resource, { namespace, name, subresource }, patch),
    delete: (name: string, body?: object) =>
      kube.delete(resource, { namespace, name }, body === undefined ? {} : { body }),
    list: (query: KubeQuery) => onceCurrent(() => kube.list<AnyObject>(resource, { namespace }, { query })),
    /** The first `count` lines of a watch. */
    watch: async (count: number, query: KubeQuery) => {
      const lines: Json[] = [];
      const options = { inactivityMs: 20_000, query: { allowWatchBookmarks: true, timeoutSeconds: 20, ...query } };
      for await (const line of kube.watch(resource, { namespace }, options)) {
        const event = parseJson(String(line));
        if (typeof event === "object" && event !== null && !Array.isArray(event)) lines.push(shortEvent(event));
        if (lines.length === count) break;
      }
      return lines;
    },
  };
}

/** Lists again while the API server's cache is behind (504, "Too large resource version"), which it asks for on a busy machine. */
async function onceCurrent<T>(list: () => Promise<T>): Promise<T> {
  for (let left = 5; ; left--) {
    try {
      return await list();
    } catch (error) {
      if (!(error instanceof KubeError && error.status === 504) || left === 0) throw error;
      await setTimeout(error.retryAfterMs ?? 1_000);
    }
  }
}

function asObject(body: object): AnyObject {
  return { metadata: { name: "unnamed" }, spec: undefined, ...body };
}

/** An event without the parts of the object that other cases compare. */
function shortEvent({ type, object }: Json): Json {
  const shown = parseJson(JSON.stringify(object ?? null));
  if (typeof shown !== "object" || shown === null || Array.isArray(shown)) return { type: type ?? null };
  const { metadata, code, reason } = shown;
  const { name, annotations, generation, finalizers } =
    typeof metadata === "object" && metadata !== null && !Array.isArray(metadata) ? metadata : {};
  const parts = { type, name, annotations, generation, finalizers, code, reason };
  return Object.fromEntries(
    Object.entries(parts).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
}

const endpoint = (name: string) => manifest("endpoint", {}, name);
const map = (name: string, data: Record<string, string>) => ({ metadata: { name }, data });

export const CASES: readonly ConformanceCase[] = [
  {
    name: "a created object has defaults, a generation and a pending status, and no status of the manifest",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      await objects.create({ ...endpoint("a"), status: { endpointID: "given" } });
      return objects.get("a");
    },
  },
  {
    name: "the generation counts changes of the spec, and nothing else",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      const steps = [await objects.create(endpoint("a"))];
      steps.push(await objects.patch("a", { spec: { command: "serve" } }));
      steps.push(await objects.patch("a", PAUSED));
      steps.push(await objects.patch("a", { status: { endpointID: "ignored" } }));
      steps.push(await objects.patch("a", { spec: { command: "more" }, status: { endpointID: "e-1" } }, "status"));
      steps.push(await objects.patch("a", { spec: { command: null } }));
      return steps.map(({ metadata, spec, status }) => ({ generation: metadata.generation, spec, status }));
    },
  },
  {
    name: "a patch that changes nothing stores no version",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      const created = await objects.create(endpoint("a"));
      const same = await objects.patch("a", { spec: { port: 8000 } });
      const ignored = await objects.patch("a", { status: { endpointID: "ignored" } });
      const changed = await objects.patch("a", { status: { endpointID: "e-1" } }, "status");
      const again = await objects.patch("a", { status: { endpointID: "e-1" } }, "status");
      return [
        isNewVersion(created, same),
        isNewVersion(same, ignored),
        isNewVersion(ignored, changed),
        isNewVersion(changed, again),
      ];
    },
  },
  {
    name: "an older resourceVersion is a conflict, in a patch, in a status and in an update",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      const { metadata } = await objects.create(endpoint("a"));
      const lock = { metadata: { resourceVersion: metadata.resourceVersion } };
      await objects.patch("a", { ...lock, spec: { command: "serve" } });
      const maps = inNamespace(world, configMapResource);
      const first = await maps.create(map("m", { a: "1" }));
      const second = await maps.update("m", { ...first, data: { a: "2" } });
      return [
        await outcome(objects.patch("a", { ...lock, spec: { command: "more" } })),
        await outcome(objects.patch("a", { ...lock, status: { endpointID: "e-1" } }, "status")),
        await outcome(objects.patch("a", { metadata: { ...lock.metadata, finalizers: ["example.com/f"] } })),
        await outcome(maps.update("m", { ...first, data: { a: "3" } })),
        isNewVersion(first, second),
        isNewVersion(second, await maps.update("m", second)),
        (await maps.get("m")).data,
      ];
    },
  },
  {
    name: "an update of the status takes the status alone, all of it",
    run: async ({ kube, namespace, ...world }) => {
      const objects = inNamespace({ kube, namespace, ...world }, gpuEndpointResource);
      const kept = { labels: { team: "a" }, annotations: { note: "b" }, finalizers: ["example.com/f"] };
      await objects.create({ ...endpoint("a"), metadata: { name: "a", ...kept } });
      const { metadata } = await objects.patch("a", { status: { endpointID: "e-1", url: "u-1" } }, "status");
      const place = { namespace, name: "a", subresource: "status" };
      const replace = (resourceVersion: string | undefined, status: object) => {
        const { apiVersion, kind } = endpoint("a");
        const body = { apiVersion, kind, metadata: { name: "a", resourceVersion }, status };
        return kube.update<AnyObject>(gpuEndpointResource, place, body);
      };
      const replaced = await replace(metadata.resourceVersion, { conditions: [], endpointID: "e-2" });
      const { labels, annotations, finalizers, generation } = replaced.metadata;
      return [
        { labels, annotations, finalizers, generation, spec: replaced.spec, status: replaced.status },
        await outcome(replace(metadata.resourceVersion, { conditions: [] })),
      ];
    },
  },
  {
    name: "a finalizer holds a deleted object until it is removed",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      await objects.create({
        ...endpoint("a"),
        metadata: { name: "a", finalizers: ["example.com/one", "example.com/two"] },
      });
      await objects.delete("a");
      const held = await objects.get("a");
      await objects.delete("a");
      const again = await objects.get("a");
      const status = await objects.patch("a", { status: { endpointID: "e-1" } }, "status");
      const one = await objects.patch("a", { metadata: { finalizers: ["example.com/two"] } });
      const none = await objects.patch("a", { metadata: { finalizers: [] } });
      return {
        held: held.metadata,
        again: isNewVersion(held, again),
        status: status.status,
        one: one.metadata.finalizers,
        none: none.metadata.finalizers ?? "absent",
        after: await outcome(objects.get("a")),
      };
    },
  },
  {
    name: "preconditions of a deletion",
    run: async (world) => {
      const objects = inNamespace(world, videoJobResource);
      const { metadata } = await objects.create(manifest("image", {}, "a"));
      await objects.patch("a", PAUSED);
      const { resourceVersion, uid } = metadata;
      return [
        await outcome(objects.delete("a", { preconditions: { uid: "11111111-2222-3333-4444-555555555555" } })),
        await outcome(objects.delete("a", { preconditions: { uid, resourceVersion } })),
        await outcome(objects.delete("a", { preconditions: { uid } })),
        await outcome(objects.delete("a")),
        await outcome(objects.get("a")),
      ];
    },
  },
  {
    name: "what is refused",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      await objects.create(endpoint("a"));
      return [
        await outcome(objects.create(endpoint("a"))),
        await outcome(objects.patch("b", { spec: { port: 80 } })),
        await outcome(objects.patch("b", { status: { endpointID: "e-1" } }, "status")),
        await outcome(objects.get("b")),
        await outcome(objects.create(manifest("endpoint", { port: 0 }, "b"))),
        await outcome(objects.create(manifest("endpoint", { image: null }, "b"))),
        await outcome(objects.create(manifest("endpoint", { policy: { type: "other" } }, "b"))),
        await outcome(objects.patch("a", { status: { endpointID: "x".repeat(10_000) } }, "status")),
      ];
    },
  },
  {
    name: "formats, repeated items, unknown fields and nulls of a spec",
    run: async (world) => {
      const endpoints = inNamespace(world, gpuEndpointResource);
      const reports = inNamespace(world, billReportResource);
      const speeches = inNamespace(world, speechJobResource);
      const accounts = inNamespace(world, accountResource);
      const variable = { name: "A", value: "1" };
      const account = { baseURL: "http://127.0.0.1:9", apiKeySecretRef: { name: "key", key: "apiKey" } };
      const ofRate = (requestsPerSecond: number) => ({ ...account, rateLimit: { requestsPerSecond } });
      const speech = {
        model: "speech-2.6-hd",
        text: "Ahoy.",
        pronunciationDict: { tone: [{ word: "sea", more: [1] }] },
      };
      const of = ({ kind }: Resource, name: string, spec: object) => ({
        apiVersion: "mooring.dev/v1alpha1",
        kind,
        metadata: { name },
        spec,
      });
      const specOf = async (request: Promise<AnyObject>) => {
        const shown = await outcome(request);
        return typeof shown === "string" ? shown : shown.spec;
      };
      return [
        await outcome(endpoints.create(manifest("endpoint", { env: [variable, variable] }, "a"))),
        await outcome(endpoints.create(manifest("endpoint", { ignoreDrift: ["env", "env"] }, "a"))),
        await outcome(reports.create(of(billReportResource, "a", { startTime: "2026-02-30T00:00:00Z" }))),
        await outcome(reports.create(of(billReportResource, "a", { startTime: "today" }))),
        await outcome(accounts.create(of(accountResource, "a", ofRate(0)))),
        await specOf(accounts.create(of(accountResource, "b", { ...account, requestTimeout: null, extra: 1 }))),
        await specOf(speeches.create(of(speechJobResource, "a", speech))),
      ];
    },
  },
  {
    name: "a list in pages",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      for (const name of ["c", "a", "b"]) await objects.create(endpoint(name));
      const first = await objects.list({ limit: 2 });
      const second = await objects.list({ limit: 2, continue: first.metadata.continue });
      const names = (page: typeof first) => page.items.map(({ metadata }) => metadata.name);
      return [
        names(first),
        names(second),
        second.metadata.continue ?? "",
        first.metadata.resourceVersion === second.metadata.resourceVersion,
      ];
    },
  },
  {
    name: "a watch from a version shows what happened since",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      const { metadata } = await objects.list({});
      await objects.create(endpoint("a"));
      await objects.patch("a", { spec: { command: "serve" } });
      await objects.patch("a", { status: { endpointID: "e-1" } }, "status");
      await objects.patch("a", { metadata: { finalizers: ["example.com/f"] } });
      await objects.delete("a");
      await objects.patch("a", { metadata: { finalizers: null } });
      return objects.watch(6, { resourceVersion: metadata.resourceVersion });
    },
  },
  {
    name: "a streamed list ends with a bookmark",
    run: async (world) => {
      const objects = inNamespace(world, gpuEndpointResource);
      await objects.create(endpoint("b"));
      await objects.create(endpoint("a"));
      return objects.watch(3, { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" });
    },
  },
  {
    name: "a version that is compacted away is gone",
    run: (world) => inNamespace(world, gpuEndpointResource).watch(1, { resourceVersion: "1" }),
  },
  {
    name: "an export: data with an owner, changed by a patch, and deleted with the version that was read",
    run: async (world) => {
      const maps = inNamespace(world, configMapResource);
      const owner = await inNamespace(world, gpuEndpointResource).create(endpoint("a"));
      const { apiVersion, kind, metadata } = owner;
      const ownerReferences = [{ apiVersion, kind, name: "a", uid: metadata.uid, controller: true }];
      const first = await maps.create({ metadata: { name: "m", ownerReferences }, data: { url: "one", id: "e-1" } });
      const second = await maps.patch("m", { data: { url: "two", id: null } });
      const { uid, resourceVersion } = first.metadata;
      return [
        first.metadata.ownerReferences?.map(({ uid: _uid, ...rest }) => rest),
        second.data,
        isNewVersion(second, await maps.patch("m", { data: { url: "two" } })),
        await outcome(maps.delete("m", { preconditions: { uid, resourceVersion } })),
        await outcome(maps.delete("m", { preconditions: { uid, resourceVersion: second.metadata.resourceVersion } })),
        await outcome(maps.get("m")),
      ];
    },
  },
  {
    name: "a patch of a status replaces lists, removes by null, and leaves the spec and the generation",
    run: async (world) => {
      const objects = inNamespace(world, videoJobResource);
      await objects.create(manifest("image", {}, "a"));
      const condition = (type: string, status: string) => ({
        type,
        status,
        reason: "Tested",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      });
      const conditions = [condition("Ready", "False"), condition("Stalled", "True")];
      await objects.patch("a", { status: { phase: "Queued", taskID: "t-1", attempts: 1, conditions } }, "status");
      const second = { phase: "Running", taskID: null, conditions: [condition("Ready", "True")] };
      const { metadata, status } = await objects.patch("a", { spec: { suspend: true }, status: second }, "status");
      return [metadata.generation, status, (await objects.get("a")).spec];
    },
  },
  {
    name: "a lease changes hands with the lock of its version",
    run: async (world) => {
      const leases = inNamespace(world, leaseResource);
      const lease = (holderIdentity: string) => ({ metadata: { name: "l" }, spec: { holderIdentity } });
      const first = await leases.create(lease("one"));
      const second = await leases.update("l", { ...first, spec: { holderIdentity: "two" } });
      return [
        await outcome(leases.create(lease("three"))),
        await outcome(leases.update("l", { ...first, spec: { holderIdentity: "three" } })),
        second.spec,
        isNewVersion(first, second),
      ];
    },
  },
  {
    name: "a namespace has its name as a label",
    run: async ({ kube, namespace }) => {
      const own = { metadata: { name: `${namespace}-own`, labels: { paid: "yes" } } };
      const { metadata } = await kube.create<AnyObject>(namespaceResource, {}, { ...own, spec: undefined });
      await kube.delete(namespaceResource, { name: metadata.name });
      return metadata.labels;
    },
  },
];

/** What differs from run to run, as placeholders. */
export function recorded(shown: unknown, namespace: string): string {
  const text = JSON.stringify(
    shown,
    (key, value: unknown) => {
      if (key === "managedFields") return undefined;
      if (["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"].includes(key)) return `<${key}>`;
      return isPlain(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
    },
    2,
  );
  return `${text.replaceAll(namespace, "<namespace>")}\n`;
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
