import type { Clock } from "../base/clock.ts";
import type { KubeClient, RequestOptions } from "./client.ts";
import { isNotFound } from "./errors.ts";
import { type Place, type Resource, resourcePath } from "./resource.ts";
import { type KubeObject, versionNumber } from "./types.ts";

/** The API server went back in time: its etcd was restored from a backup. */
export class RestoredError extends Error {
  override readonly name = "RestoredError";
  /** Names of the Leases that show it, and would show it to every later process. */
  readonly leases: readonly string[];

  constructor(message: string, leases: readonly string[] = []) {
    super(message);
    this.leases = leases;
  }
}

/**
 * Notices that etcd was restored from a backup, by what its API server answers.
 *
 * # Guarantees
 * - `onRestored` is called before the caller gets the answer that shows it, once for each such answer.
 * - Only reads and writes of single objects count as evidence that etcd went back: they are consistent. A list can come from an API server
 *   that lags behind, so an older one proves nothing.
 * - An answer is compared with what was known when its request was sent, so that answers that overtake each other prove nothing.
 *
 * # Evidence
 * - A record (Lease or ConfigMap in `namespace`) has an earlier version than before, and the same UID.
 * - A write of `group` has an earlier version than any list or write of it before. etcd counts its writes.
 * - A version is more than 10^8 later: `etcdutl snapshot restore --bump-revision`. After a restart, a list of Leases shows this: the Lease of an
 *   earlier process has the version of its last renewal.
 */
export type EtcdHistory = {
  /** The client whose answers are observed. */
  client: KubeClient;
  /** Reads the records again. @throws KubeError | the signal's reason */
  look(signal: AbortSignal): Promise<void>;
};

type HistoryOptions = {
  client: KubeClient;
  /** Of the records. */
  namespace: string;
  /** The API group whose lists and writes are compared: custom resources have one etcd; others can have one of their own. */
  group: string;
  clock: Pick<Clock, "now">;
  onRestored: (error: RestoredError) => void;
};

/** Single objects of these kinds. */
const RECORDS = ["leases", "configmaps"];
/** More writes than an etcd counts between two reads: a number, and a number for each second between them. */
const LONGEST_STEP = 10n ** 8n;
const WRITES_PER_SECOND = 1_000;

/** `at`: when it was current, ms since the epoch. */
type Seen = { version: bigint; at: number };
type KnownObject = Seen & { resource: Resource; place: Place; uid: string | undefined };
/** `from`: the version that a write replaces, as its sender knows it. */
type Asked = { resource: Resource; place: Place; write?: { from: string | undefined } };

const hasNumber = (seen: { version: bigint | undefined; at: number }): seen is Seen => seen.version !== undefined;

export function createEtcdHistory({ client, namespace, group, clock, onRestored }: HistoryOptions): EtcdHistory {
  const records = new Map<string, KnownObject>();
  /** The latest version of a list or a write of the group. */
  let latest: Seen | undefined;

  function report(what: () => string, version: bigint, relation: string, before: Seen & { leases?: string[] }): void {
    latest = undefined;
    const message = `${what()} has version ${version}, ${relation} than ${before.version}, seen before`;
    onRestored(new RestoredError(message, before.leases));
  }

  function isMuchLater(version: bigint, before: Seen): boolean {
    const seconds = Math.max(0, Math.ceil((clock.now() - before.at) / 1_000));
    return version > before.version + LONGEST_STEP + BigInt(seconds * WRITES_PER_SECOND);
  }

  function judgeStep(what: () => string, version: bigint, before: Seen): void {
    if (isMuchLater(version, before)) report(what, version, "much later", before);
  }

  function judgeLeases(what: () => string, version: bigint, leases: readonly KubeObject[]): void {
    const old = leases.flatMap((lease) => {
      const before = { version: versionNumber(lease.metadata.resourceVersion), at: renewedAt(lease) ?? 0 };
      return hasNumber(before) && isMuchLater(version, before) ? [{ ...before, name: lease.metadata.name }] : [];
    });
    const [first] = old;
    if (first !== undefined) report(what, version, "much later", { ...first, leases: old.map(({ name }) => name) });
  }

  function observeLatest(what: () => string, version: bigint, before: Seen | undefined): void {
    if (before !== undefined) judgeStep(what, version, before);
    if (latest === undefined || version >= latest.version) latest = { version, at: clock.now() };
  }

  function observeRecord(what: () => string, known: KnownObject, before: KnownObject | undefined): void {
    records.set(resourcePath(known.resource, known.place), known);
    if (before === undefined || before.uid !== known.uid) return;
    if (known.version < before.version) report(what, known.version, "earlier", before);
    else if (known.resource.plural === "leases") judgeStep(what, known.version, before);
  }

  async function observed<T extends KubeObject>(asked: Asked, send: () => Promise<T>): Promise<T> {
    const { resource, write } = asked;
    const isRecord = asked.place.namespace === namespace && RECORDS.includes(resource.plural);
    if (!isRecord && (write === undefined || resource.group !== group)) return send();
    const known = isRecord ? records.get(resourcePath(resource, asked.place)) : undefined;
    const before = latest;
    const answer = await send();
    const { name, uid, resourceVersion, deletionTimestamp } = answer.metadata ?? {};
    const version = resourceVersion === undefined ? undefined : versionNumber(resourceVersion);
    if (version === undefined) return answer;
    const place = { namespace: asked.place.namespace, name };
    const what = () => `${resource.kind} ${place.namespace === undefined ? "" : `${place.namespace}/`}${name}`;
    // A write that changes nothing, or that ends a deletion, can have the version of an earlier one.
    const isCounted = write !== undefined && write.from !== resourceVersion && deletionTimestamp === undefined;
    if (isCounted && resource.group === group) {
      if (before !== undefined && version < before.version) report(what, version, "earlier", before);
      observeLatest(what, version, before);
    }
    if (isRecord) {
      observeRecord(what, { resource, place, uid, version, at: renewedAt(answer) ?? clock.now() }, known);
    }
    return answer;
  }

  const observing = observingClient(client, observed, async ({ resource, place }, send) => {
    const before = latest;
    const list = await send();
    const version = versionNumber(list.metadata?.resourceVersion ?? "");
    if (version === undefined) return list;
    const what = () => `the list of ${resource.plural}`;
    if (resource.group === group) observeLatest(what, version, before);
    if (place.namespace === namespace && resource.plural === "leases") judgeLeases(what, version, list.items);
    return list;
  });

  return {
    client: observing,
    async look(signal) {
      for (const { resource, place } of [...records.values()]) {
        try {
          await observing.get(resource, place, { signal });
        } catch (error) {
          if (!isNotFound(error)) throw error;
        }
      }
    },
  };
}

type Observe = <T extends KubeObject>(asked: Asked, send: () => Promise<T>) => Promise<T>;
type ObserveList = <T extends Awaited<ReturnType<KubeClient["list"]>>>(
  asked: Asked,
  send: () => Promise<T>,
) => Promise<T>;

function observingClient(client: KubeClient, observed: Observe, observedList: ObserveList): KubeClient {
  return {
    ...client,
    get: (resource, place, options) => observed({ resource, place }, () => client.get(resource, place, options)),
    create: (resource, place, body, options) =>
      observed({ resource, place, write: { from: undefined } }, () => client.create(resource, place, body, options)),
    update: (resource, place, body, options) =>
      observed({ resource, place, write: { from: body.metadata.resourceVersion } }, () =>
        client.update(resource, place, body, options),
      ),
    mergePatch<T extends KubeObject>(resource: Resource, place: Place, patch: object, options?: RequestOptions) {
      const from = lockOf(patch);
      const write = from === undefined ? {} : { write: { from } };
      return observed({ resource, place, ...write }, () => client.mergePatch<T>(resource, place, patch, options));
    },
    list: <T extends KubeObject>(resource: Resource, place: Place, options?: RequestOptions) =>
      observedList({ resource, place }, () => client.list<T>(resource, place, options)),
  };
}

/** The version that a patch has as its lock; undefined: it has none, so its response does not tell whether it changed something. */
function lockOf(patch: object): string | undefined {
  const metadata = "metadata" in patch ? patch.metadata : undefined;
  if (typeof metadata !== "object" || metadata === null || !("resourceVersion" in metadata)) return undefined;
  return typeof metadata.resourceVersion === "string" ? metadata.resourceVersion : undefined;
}

/** A Lease tells when its version was the latest one, ms since the epoch. */
function renewedAt({ spec }: KubeObject): number | undefined {
  if (typeof spec !== "object" || spec === null || !("renewTime" in spec)) return undefined;
  return Date.parse(String(spec.renewTime)) || undefined;
}
