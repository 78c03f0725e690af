import * as z from "zod";
import type { GpuEndpoint } from "../../api/v1alpha1/gpu-endpoint.ts";
import { ANNOTATIONS, boundAccountSchema, type Submission } from "../../api/v1alpha1/meta.ts";
import type { Clock } from "../../base/clock.ts";
import { keyOf } from "../../kube/types.ts";
import { shortened } from "../../runtime/shortened.ts";
import type { OpenSubmission, SubmissionRecord } from "../../submission/record.ts";
import { createdBy, type OpenCreate } from "./open-create.ts";

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

/** The record of the last create of this object. The annotation of another object, such as the one that was copied, is none. */
export function createRecordOf({ metadata }: Recorded): SubmissionRecord | undefined {
  const text = metadata.annotations?.[ANNOTATIONS.create];
  if (text === undefined || !text.includes(metadata.uid)) return undefined;
  try {
    const { data } = recordSchema.safeParse(JSON.parse(text));
    return data?.uid === metadata.uid ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the status shows the outcome of a create, or of a later one. Each create of an object has a higher attempt than those before. */
function isShown({ id, attempt }: OpenSubmission, { status }: Recorded): boolean {
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

/**
 * The creates whose outcome no status shows. Those of this process are here, until the status shows them. Of another process, the object
 * has the record: that process has ended, because the one that holds the lease serves the account, and the outcome is unknown.
 */
export type Creates = {
  /** The open create of an object, and for how long its outcome has been unknown here. */
  find(endpoint: GpuEndpoint): { entry: OpenCreate | undefined; unknownForMs: number };
  /** The record of a create that this process did not send: the object shows no outcome of it yet. */
  unsent(endpoint: GpuEndpoint): SubmissionRecord | undefined;
  /** As `find`, for the rank of an object among those with the same target. */
  peek(endpoint: GpuEndpoint): OpenCreate | undefined;
  /** The object has the record: the create may follow. `endpoint`: the stored object. */
  begin(endpoint: GpuEndpoint, record: SubmissionRecord): void;
  answered(uid: string, outcome: OpenCreate["outcome"]): void;
  /** Reads the stored object, whose status may show the outcome by now. */
  observe(endpoint: GpuEndpoint): void;
  /** Nothing was sent or took effect, or the deletion policy is applied. */
  end(uid: string): void;
  /** Objects that this process created the endpoint for and whose status does not show it. */
  created(endpointID: string): GpuEndpoint[];
  /** The objects with this key, except for `present`, whose create is open: each as it was when its record was stored. */
  departed(key: string, present: string | undefined): GpuEndpoint[];
  /** No object has this key any more. */
  forget(key: string): void;
};

export function createCreates({ clock, identity }: { clock: Clock; identity: string }): Creates {
  const open = new Map<string, { create: OpenCreate; endpoint: GpuEndpoint }>();
  /** By key: the last create whose outcome the status showed. A status that loses it does not make it unsent. */
  const shown = new Map<string, string>();
  /** By UID: when this process first saw a create whose outcome is unknown. The record's time is of another clock. */
  const unknown = new Map<string, { id: string; at: number }>();

  /** Whether this process did not send the create of a record whose outcome the status does not show, and that it does not have here. */
  function isUnsent(endpoint: GpuEndpoint, record: SubmissionRecord | undefined): boolean {
    return record?.sender === identity && record.id !== shown.get(keyOf(endpoint));
  }

  function unsent(endpoint: GpuEndpoint): SubmissionRecord | undefined {
    const record = open.has(endpoint.metadata.uid) ? undefined : unshownCreateOf(endpoint);
    return isUnsent(endpoint, record) ? record : undefined;
  }

  function peek(endpoint: GpuEndpoint): OpenCreate | undefined {
    const own = open.get(endpoint.metadata.uid)?.create;
    if (own !== undefined) return isShown(own, endpoint) ? undefined : own;
    const record = unshownCreateOf(endpoint);
    return isUnsent(endpoint, record) ? undefined : record;
  }

  function ageMs(uid: string, entry: OpenCreate | undefined): number {
    if (entry === undefined || createdBy(entry) !== undefined) {
      unknown.delete(uid);
      return 0;
    }
    const since = unknown.get(uid);
    if (since?.id === entry.id) return clock.monotonic() - since.at;
    unknown.set(uid, { id: entry.id, at: clock.monotonic() });
    return 0;
  }

  function end(uid: string): void {
    open.delete(uid);
    unknown.delete(uid);
  }

  return {
    unsent,
    peek,
    find(endpoint) {
      const entry = peek(endpoint);
      return { entry, unknownForMs: ageMs(endpoint.metadata.uid, entry) };
    },
    begin: (endpoint, record) => void open.set(record.uid, { create: record, endpoint: shortened(endpoint) }),
    answered(uid, outcome) {
      const own = open.get(uid);
      if (own !== undefined && outcome !== undefined) own.create = { ...own.create, outcome };
    },
    observe(endpoint) {
      const { uid } = endpoint.metadata;
      const own = open.get(uid)?.create;
      if (own === undefined || !isShown(own, endpoint)) return;
      shown.set(keyOf(endpoint), own.id);
      end(uid);
    },
    end,
    created: (endpointID) =>
      [...open.values()].flatMap(({ create, endpoint }) => (createdBy(create) === endpointID ? [endpoint] : [])),
    departed: (key, present) =>
      [...open].flatMap(([uid, { endpoint }]) => (uid !== present && keyOf(endpoint) === key ? [endpoint] : [])),
    forget: (key) => void shown.delete(key),
  };
}
