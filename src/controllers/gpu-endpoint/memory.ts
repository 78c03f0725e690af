import * as z from "zod";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS, boundAccountSchema, type Submission } from "../../api/v1alpha1/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { createMultiMap } from "../../base/multi-map.ts";
import { keyOf } from "../../kube/types.ts";
import type { KeySession } from "../../provider/endpoints/endpoint-index.ts";
import { shortened } from "../../runtime/shortened.ts";
import type { OpenSubmission, SubmissionRecord } from "../../submission/record.ts";
import type { Attempts } from "./attempts.ts";

/** A create whose outcome the status does not show. `outcome`: what this process knows of it. */
export type OpenCreate = OpenSubmission & { outcome?: { endpointID: string } | { unusable: string } };

/** The endpoint that a create is known to have made. */
export function createdBy(create: OpenCreate | undefined): string | undefined {
  return create?.outcome !== undefined && "endpointID" in create.outcome ? create.outcome.endpointID : undefined;
}

const recordSchema: z.ZodType<SubmissionRecord> = z.object({
  id: z.string().max(256),
  uid: z.string().max(256),
  attempt: z.int().min(1).max(1_000_000),
  operation: z.string().max(64),
  specHash: z.string().max(128),
  account: boundAccountSchema,
  keyVersion: z.string().max(64).optional(),
  sender: z.string().max(512),
  time: z.iso.datetime(),
});

/** What tells of an object's creates. */
type Recorded = {
  metadata: Pick<GpuEndpoint["metadata"], "uid" | "annotations">;
  status?: { submission?: Submission | undefined } | undefined;
};

/** Records by their text: each object is asked for its own many times until its status shows the outcome. */
const parsed = new Map<string, SubmissionRecord | undefined>();
/** More than the objects that are reconciled at once, by default. */
const MOST_PARSED = 128;

/** The record of the last create of this object. The annotation of another object, such as the one that was copied, is none. */
export function createRecordOf({ metadata }: Recorded): SubmissionRecord | undefined {
  const text = metadata.annotations?.[ANNOTATIONS.create];
  if (text === undefined || !text.includes(metadata.uid)) return undefined;
  const record = parsedOf(text);
  return record?.uid === metadata.uid ? record : undefined;
}

/** A record as its object shows it. What this process writes, it does not parse again. */
export function textOf(record: SubmissionRecord): string {
  const text = JSON.stringify(record);
  remember(text, record);
  return text;
}

function parsedOf(text: string): SubmissionRecord | undefined {
  return parsed.has(text) ? parsed.get(text) : remember(text, recordIn(text));
}

function remember(text: string, record: SubmissionRecord | undefined): SubmissionRecord | undefined {
  const [oldest] = parsed.keys();
  if (parsed.size >= MOST_PARSED && oldest !== undefined) parsed.delete(oldest);
  parsed.set(text, record);
  return record;
}

function recordIn(text: string): SubmissionRecord | undefined {
  try {
    return recordSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Whether the status shows the outcome of a create, or of a later one. Each create of an object has a higher attempt than those before. */
export function isShown({ id, attempt }: OpenSubmission, { status }: Recorded): boolean {
  const { submission } = status ?? {};
  if (submission === undefined) return false;
  return submission.id === id ? submission.state !== "Intended" : submission.attempt >= attempt;
}

/** The record of a create whose outcome the status does not show. Whether it was sent is another question. */
export function unshownCreateOf(endpoint: Recorded): SubmissionRecord | undefined {
  if (showsLast(endpoint)) return undefined;
  const record = createRecordOf(endpoint);
  return record === undefined || isShown(record, endpoint) ? undefined : record;
}

/** Whether the status shows the outcome of the create that is in the annotation. Usually it does, and each reconcile asks, so nothing is parsed. */
function showsLast({ metadata, status }: Recorded): boolean {
  const { id, state } = status?.submission ?? {};
  if (id === undefined || state === "Intended") return false;
  return metadata.annotations?.[ANNOTATIONS.create]?.includes(`"id":${JSON.stringify(id)}`) === true;
}

/** What this process sent to clean an endpoint up. What is forgotten is sent again, which is harmless. */
export type SentCleanUp = {
  /** Updates to 0/0 that the service accepted. `lastAt`: monotonic ms. */
  scaled?: { count: number; lastAt: number };
  /** `at`: monotonic ms. `session`: the key that showed the endpoint right before; `status.deletion` shows it to the next process. */
  deleted?: { at: number; session: KeySession };
};

/** All that this process remembers of one GpuEndpoint, until `forget`. */
export type EndpointMemory = {
  readonly uid: string;
  readonly key: string;
  /** The create of this process whose outcome the status does not show, and the object as it was when the record was stored. */
  own?: { create: OpenCreate; endpoint: GpuEndpoint } | undefined;
  /** The last create whose outcome the status showed. A status that loses it does not make it unsent. */
  shown?: string;
  /** When this process first saw a create whose outcome is unknown, monotonic ms. The record's time is of another clock. */
  unknown?: { id: string; at: number } | undefined;
  /** What was sent to bring the remote endpoint to the desired one. */
  attempts?: Attempts;
  /** What was sent because the object is deleted, by endpoint ID. */
  cleanUps?: Map<string, SentCleanUp>;
  /** The version of the object that is surely not older than this process's term (current-state.ts). */
  proven?: string | undefined;
  /** The object, when its deletion leaves its remote endpoint unchanged (controller.ts). */
  retained?: GpuEndpoint | undefined;
  /** Workers and GPUs that a request gives the endpoint, until a read shows what was asked for (share-gate.ts). */
  granted?: { workers: number; gpus: number } | undefined;
  /** This process knew the object before it was bound, and has not seen it ready (metrics.ts). */
  unready?: boolean;
};

/**
 * What this process remembers of GpuEndpoints: one record for each UID. Another object of the same name has another UID.
 *
 * A create whose outcome no status shows is open. Those of this process are here. Of another process, the object has the record. While
 * that process lives, it writes the outcome (controller.ts); afterwards, the outcome is unknown.
 */
export type EndpointMemories = {
  of(endpoint: GpuEndpoint): EndpointMemory;
  /** The objects that had this key before `present`, the UID of the object that has it now. */
  former(key: string, present: string | undefined): EndpointMemory[];
  forget(memory: EndpointMemory): void;

  /** The open create of an object, and for how long its outcome has been unknown here. */
  findCreate(endpoint: GpuEndpoint): { entry: OpenCreate | undefined; unknownForMs: number };
  /** As `findCreate`, for the rank of an object among those with the same target. Remembers nothing. */
  peek(endpoint: GpuEndpoint): OpenCreate | undefined;
  /** `EndpointMemory.granted`. Remembers nothing. */
  granted(endpoint: GpuEndpoint): EndpointMemory["granted"];
  /** The record of a create that this process did not send: the object shows no outcome of it yet. */
  unsent(endpoint: GpuEndpoint): SubmissionRecord | undefined;
  /** Objects that this process created the endpoint for and whose status does not show it. */
  created(endpointID: string): GpuEndpoint[];
  /** The object has the record: the create may follow. `endpoint`: the stored object. */
  begin(endpoint: GpuEndpoint, record: SubmissionRecord): void;
  answered(endpoint: GpuEndpoint, outcome: OpenCreate["outcome"]): void;
  /** Reads the stored object, whose status may show the outcome by now. */
  observe(endpoint: GpuEndpoint): void;
  /** Nothing was sent or took effect, or the deletion policy is applied. */
  end(endpoint: GpuEndpoint): void;
};

export function createEndpointMemories({ clock, identity }: { clock: Clock; identity: string }): EndpointMemories {
  const byUID = new Map<string, EndpointMemory>();
  const byKey = createMultiMap<EndpointMemory>();
  /** Those that have `own`. */
  const open = new Set<EndpointMemory>();

  const known = ({ metadata }: GpuEndpoint) => byUID.get(metadata.uid);

  function of(endpoint: GpuEndpoint): EndpointMemory {
    const present = known(endpoint);
    if (present !== undefined) return present;
    const memory = { uid: endpoint.metadata.uid, key: keyOf(endpoint) };
    byUID.set(memory.uid, memory);
    byKey.add(memory.key, memory);
    return memory;
  }

  const former = (key: string, present: string | undefined) => [...byKey.of(key)].filter(({ uid }) => uid !== present);

  /** Whether this process did not send the create of a record whose outcome the status does not show, and that it does not have here. */
  function isUnsent(endpoint: GpuEndpoint, record: SubmissionRecord | undefined): boolean {
    return record?.sender === identity && record.id !== known(endpoint)?.shown;
  }

  function peek(endpoint: GpuEndpoint): OpenCreate | undefined {
    const own = known(endpoint)?.own?.create;
    if (own !== undefined) return isShown(own, endpoint) ? undefined : own;
    const record = unshownCreateOf(endpoint);
    return isUnsent(endpoint, record) ? undefined : record;
  }

  function ageMs(memory: EndpointMemory, entry: OpenCreate | undefined): number {
    if (entry === undefined || createdBy(entry) !== undefined) {
      memory.unknown = undefined;
      return 0;
    }
    if (memory.unknown?.id !== entry.id) memory.unknown = { id: entry.id, at: clock.monotonic() };
    return clock.monotonic() - memory.unknown.at;
  }

  function end(endpoint: GpuEndpoint): void {
    const memory = of(endpoint);
    memory.own = undefined;
    memory.unknown = undefined;
    open.delete(memory);
  }

  return {
    of,
    former,
    forget(memory) {
      open.delete(memory);
      byUID.delete(memory.uid);
      byKey.remove(memory.key, memory);
    },
    findCreate(endpoint) {
      const entry = peek(endpoint);
      return { entry, unknownForMs: ageMs(of(endpoint), entry) };
    },
    peek,
    granted: (endpoint) => known(endpoint)?.granted,
    unsent(endpoint) {
      const record = known(endpoint)?.own === undefined ? unshownCreateOf(endpoint) : undefined;
      return isUnsent(endpoint, record) ? record : undefined;
    },
    created: (endpointID) =>
      [...open].flatMap(({ own }) => (own !== undefined && createdBy(own.create) === endpointID ? [own.endpoint] : [])),
    begin(endpoint, record) {
      const memory = of(endpoint);
      memory.own = { create: record, endpoint: shortened(endpoint) };
      open.add(memory);
    },
    answered(endpoint, outcome) {
      const { own } = of(endpoint);
      if (own !== undefined && outcome !== undefined) own.create = { ...own.create, outcome };
    },
    observe(endpoint) {
      const memory = known(endpoint);
      if (memory?.own === undefined || !isShown(memory.own.create, endpoint)) return;
      memory.shown = memory.own.create.id;
      end(endpoint);
    },
    end,
  };
}
