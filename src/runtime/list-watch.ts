import type { Logger } from "pino";
import type { Clock } from "../base/clock.ts";
import { type KubeClient, type KubeQuery, ListTooLargeError } from "../kube/client.ts";
import { errorFromEvent } from "../kube/errors.ts";
import type { RestoredError } from "../kube/etcd-history.ts";
import { parseObject } from "../kube/parse-object.ts";
import type { Resource } from "../kube/resource.ts";
import { isLaterVersion, type KubeObject, keyOf, type ObjectMeta, type WatchEvent } from "../kube/types.ts";
import { assertNotEarlier, createOvertaken } from "./list-age.ts";
import type { Slices } from "./slices.ts";

export type ReflectorSink<T> = {
  /** A list begins. Default: nobody counts lists. */
  listBegins?(): void;
  /** One object of a list. Returns the version that is stored of it. */
  listed(object: T): string | undefined;
  /** The list is complete: objects that are not in `keys` are deleted. */
  listEnded(keys: ReadonlySet<string>): void;
  changed(type: "ADDED" | "MODIFIED" | "DELETED", object: T): void;
  /** Whether the sink has the object in this version or a later one: `changed` would do nothing. */
  has(metadata: Stored): boolean;
};

type Stored = Required<Pick<ObjectMeta, "name" | "uid" | "resourceVersion">> & Pick<ObjectMeta, "namespace">;

export type ReflectorOptions<T extends KubeObject> = {
  client: KubeClient;
  resource: Resource;
  /** Only this namespace; undefined for all. */
  namespace?: string | undefined;
  /** `labelSelector`, `fieldSelector`: what does not match is not seen; what stops matching is seen as deleted. */
  selector?: KubeQuery;
  sink: ReflectorSink<T>;
  clock: Clock;
  random: () => number;
  log: Logger;
  /** Between the objects of a list and the events of a watch. Default: none. */
  slices?: Slices | undefined;
  /** Aborts when a new list is wanted, whatever is under way. Asked at the begin of each list and watch. Default: none is. */
  renewal?: (() => AbortSignal) | undefined;
  /**
   * A list is older than what this reflector has seen: etcd was restored from a backup, or the API server lags behind another one. The
   * reflector has ended, because what it and others remember cannot be corrected. Only a new process can.
   */
  onRestored?: ((error: RestoredError) => void) | undefined;
};

/** `resourceVersion`: where to continue; undefined when a list is not complete. */
export type Watched = { resourceVersion: string | undefined; events: number; error?: unknown };

const PAGE_SIZE = 500;
/** A page with more bytes is requested again with fewer objects. One object always has fewer. */
const PAGE_BYTES = 8 * 1024 * 1024;
const SMALLER_PAGE = 8;
/** Bookmarks come every 60 s, so a silent stream of this length is a dead one. */
const INACTIVITY_MS = 100_000;
const MIN_WATCH_SECONDS = 300;
/** Marks the bookmark that ends a streaming list (KEP-3157). */
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** One list, in pages. `latest`: the latest version that was seen before. */
export async function listAll<T extends KubeObject>(
  options: ReflectorOptions<T>,
  latest: string | undefined,
  signal: AbortSignal,
): Promise<Watched> {
  const keys = new Set<string>();
  const overtaken = createOvertaken<T>(options.resource);
  let next: string | undefined;
  let resourceVersion: string | undefined;
  let limit = PAGE_SIZE;
  try {
    for (let isComplete = false; !isComplete; ) {
      const query = { ...options.selector, limit, continue: next };
      const page = await boundedPage(options, query, signal);
      if (page === undefined) {
        limit = Math.max(1, Math.floor(limit / SMALLER_PAGE));
        continue;
      }
      assertNotEarlier(options.resource, page.metadata.resourceVersion, latest);
      for (const object of page.items) {
        keys.add(keyOf(object));
        overtaken.observe(object, options.sink.listed(object));
        await options.slices?.end();
      }
      overtaken.assertNone(page.metadata.resourceVersion);
      next = page.metadata.continue || undefined;
      resourceVersion = page.metadata.resourceVersion;
      isComplete = next === undefined;
    }
  } catch (error) {
    return { resourceVersion: undefined, events: keys.size, error };
  }
  options.sink.listEnded(keys);
  return { resourceVersion: resourceVersion ?? "", events: keys.size + 1 };
}

/** Undefined: it is too large. One object always fits. */
async function boundedPage<T extends KubeObject>(
  { client, resource, namespace }: ReflectorOptions<T>,
  query: KubeQuery & { limit: number },
  signal: AbortSignal,
) {
  try {
    const maxBytes = query.limit === 1 ? Number.POSITIVE_INFINITY : PAGE_BYTES;
    return await client.list<T>(resource, { namespace }, { signal, query, maxBytes });
  } catch (error) {
    if (error instanceof ListTooLargeError) return undefined;
    throw error;
  }
}

/** One watch: from a version, or (`from` undefined) beginning with a streamed list. `latest`: the latest version before. */
export async function watchOnce<T extends KubeObject>(
  options: ReflectorOptions<T>,
  from: string | undefined,
  signal: AbortSignal,
  latest?: string,
): Promise<Watched> {
  const watched: Watched = { resourceVersion: from, events: 0 };
  const keys = from === undefined ? new Set<string>() : undefined;
  const overtaken = createOvertaken<T>(options.resource);
  const start =
    from === undefined ? { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" } : { resourceVersion: from };
  try {
    const stream = options.client.watch(
      options.resource,
      { namespace: options.namespace },
      {
        signal,
        inactivityMs: INACTIVITY_MS,
        query: {
          ...options.selector,
          ...start,
          allowWatchBookmarks: true,
          timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + options.random())),
        },
      },
    );
    for await (const line of stream) {
      const known = watched.resourceVersion === undefined ? undefined : storedIn(line);
      if (known !== undefined && options.sink.has(known)) {
        await options.slices?.end();
        watched.events++;
        watched.resourceVersion = later(watched.resourceVersion, known.resourceVersion);
        continue;
      }
      const event = parseObject<WatchEvent<T>>(line);
      if (event.type === "ERROR") throw errorFromEvent(`watch ${options.resource.plural}`, event.object);
      await options.slices?.end();
      watched.events++;
      if (keys !== undefined && watched.resourceVersion === undefined) {
        if (!isEndOfList(event)) {
          overtaken.observe(event.object, takeInitial(options.sink, event, keys));
          continue;
        }
        const { resourceVersion } = event.object.metadata;
        assertNotEarlier(options.resource, resourceVersion, latest);
        overtaken.assertNone(resourceVersion);
        options.sink.listEnded(keys);
      } else if (event.type !== "BOOKMARK") options.sink.changed(event.type, event.object);
      watched.resourceVersion = later(watched.resourceVersion, event.object.metadata.resourceVersion);
    }
  } catch (error) {
    watched.error = error;
  }
  return watched;
}

const MODIFIED = '{"type":"MODIFIED",';
const AFTER_METADATA = Buffer.from('},"spec":{');
/** How API servers write the end of the metadata: fields by name, without spaces. A text has no such quotes, because they are escaped. */
const METADATA_END = /"name":"([^"]+)"(?:,"namespace":"([^"]+)")?,"resourceVersion":"(\d+)","uid":"([^"]+)"$/;
const LONGEST_END = 600;

/**
 * The object of a line that shows a change, found without parsing the line: most lines show what this process wrote, and the store has the
 * responses to its writes. Undefined: the line has to be parsed.
 */
export function storedIn(line: Buffer): Stored | undefined {
  const end = line.toString("latin1", 0, MODIFIED.length) === MODIFIED ? line.indexOf(AFTER_METADATA) : -1;
  const [, name, namespace, resourceVersion, uid] =
    METADATA_END.exec(line.toString("utf8", Math.max(0, end - LONGEST_END), Math.max(0, end))) ?? [];
  if (name === undefined || resourceVersion === undefined || uid === undefined) return undefined;
  return { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) };
}

/** A version never goes back: a watch from an earlier one would show objects again that are gone. */
export function later(known: string | undefined, told: string | undefined): string | undefined {
  if (known === undefined || told === undefined) return told ?? known;
  return isLaterVersion(told, known) ? told : known;
}

type SoundEvent<T> = Exclude<WatchEvent<T>, { type: "ERROR" }>;

function isEndOfList<T extends KubeObject>({ type, object }: SoundEvent<T>): boolean {
  return type === "BOOKMARK" && object.metadata.annotations?.[INITIAL_EVENTS_END] === "true";
}

/** An event of a streamed list before its end. Returns the version that is stored of the object. */
function takeInitial<T extends KubeObject>(
  sink: ReflectorSink<T>,
  { type, object }: SoundEvent<T>,
  keys: Set<string>,
): string | undefined {
  if (type === "BOOKMARK") return undefined;
  if (type !== "DELETED") {
    keys.add(keyOf(object));
    return sink.listed(object);
  }
  keys.delete(keyOf(object));
  sink.changed("DELETED", object);
  return undefined;
}
