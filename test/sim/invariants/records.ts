import { ANNOTATIONS } from "../../../src/api/v1alpha1/meta.ts";
import type { CoreRequest } from "../../../src/simulator/core.ts";
import { isJson, type Json, objectAt, parseJson, textAt } from "../api-server/json.ts";
import type { Storage } from "../api-server/storage.ts";
import { OPERATOR_NAMESPACE } from "../operator/process.ts";
import { createsSomething, SERVICE_URL, serialIn, serialOf } from "../scenario/manifests.ts";
import type { Judge } from "./violation.ts";

/** How a request ended for its process. Ambiguous: it can have taken effect or not, as far as the process can tell. */
export type FlightEnd = "Clear" | "Ambiguous";

/** Judges the records of requests that cost or create something (docs/explanation/correctness.md). */
export type Records = {
  /** The first byte of a request leaves a process. */
  sent(sender: string, request: CoreRequest): void;
  /** The service made a task. */
  accepted(request: CoreRequest, taskID: string): void;
  /** The process has the response, or none will come. */
  ended(request: CoreRequest, end: FlightEnd): void;
  /** Somebody else writes the record of this object: what follows from its content is not judged. */
  tampered(serial: number): void;
  isTampered(serial: number): boolean;
  /** The IDs and values of all records of an object so far, oldest first, as the object showed them. */
  of(serial: number): readonly StoredRecord[];
  /** The last request that was sent for an object. */
  lastFlight(serial: number): Pick<Flight, "sender" | "end"> | undefined;
  /** Judges what can be told only in the end. */
  judgeEnd(): void;
};

export type StoredRecord = {
  id: string;
  /** The object that has the record. */
  uid: string;
  attempt: number;
  sender: string | undefined;
  keyVersion: string | undefined;
  account: Json;
  /** What the record says about itself; a job's does not name its UID. */
  recordedUID: string | undefined;
  /** As it is stored. */
  text: string;
};

/** Judged senders: whether a process still runs, and how it ended. */
export type Senders = {
  isAlive(identity: string): boolean;
  endOf(identity: string): { reason: string; at: number } | undefined;
};

type Flight = {
  record: StoredRecord;
  serial: number;
  sender: string;
  taskID?: string;
  end?: FlightEnd;
  /** When the process got the response, ms since the beginning. */
  endedAt: number;
  /** An object or an account shows the task. */
  isKept: boolean;
};

export type RecordsOptions = {
  storage: Storage;
  judge: Judge;
  senders: Senders;
  /** Whether requests to the API server can have failed between two times, ms since the beginning. */
  apiFails: (from: number, until: number) => boolean;
  now: () => number;
};

export function createRecords({ storage, judge, senders, apiFails, now }: RecordsOptions): Records {
  const byID = new Map<string, StoredRecord>();
  const byObject = new Map<string, StoredRecord[]>();
  const uids = new Map<number, string>();
  /** Several objects can send the same request (reuse). */
  const others = new Map<number, Set<string>>();
  const flights = new Map<string, Flight>();
  const flightOf = new Map<CoreRequest, Flight>();
  /** Key by account and version. */
  const keys = new Map<string, string>();
  const tamperedSerials = new Set<number>();
  const statuses = new Map<string, string>();
  /** Requests whose task no object shows yet. */
  const unkept = new Set<Flight>();

  storage.onRestore(() => {
    for (const serial of uids.keys()) tamperedSerials.add(serial);
    unkept.clear();
  });

  storage.onEvent((id, { object, type }) => {
    if (unkept.size > 0 && KEEPS_TASKS.test(id)) keep(JSON.stringify(object));
    if (!SUBMITTING.test(id)) return;
    const uid = textAt(object["metadata"], "uid") ?? "";
    const serial = serialOf(object);
    if (serial === undefined || type === "DELETED") return;
    uids.set(serial, uid);
    others.set(serial, (others.get(serial) ?? new Set()).add(uid));
    const record = recordOf(id, object);
    if (record !== undefined && !byID.has(record.id)) {
      byID.set(record.id, record);
      byObject.set(uid, [...(byObject.get(uid) ?? []), record]);
    }
    // The condition of an endpoint stays while its next create is recorded.
    const status = JSON.stringify(object["status"] ?? null);
    const unknown = statuses.get(uid) === status ? undefined : unknownIn(id, object);
    statuses.set(uid, status);
    if (unknown !== undefined && !tamperedSerials.has(serial)) judgeUnknown(serial, unknown);
  });

  function keep(text: string): void {
    for (const flight of unkept) {
      if (flight.taskID === undefined || !text.includes(flight.taskID)) continue;
      flight.isKept = true;
      unkept.delete(flight);
    }
  }

  /** Whether the lease of a process was not ended. */
  const isHeld = (sender: string) =>
    textAt(storage.get("leases.coordination.k8s.io", `${OPERATOR_NAMESPACE}/${sender}`)?.["spec"], "holderIdentity") ===
    sender;

  /** An object is about to be treated as if the outcome of this request is unknown. */
  function judgeUnknown(serial: number, id: string): void {
    const { sender } = byID.get(id) ?? {};
    if (sender === undefined || !senders.isAlive(sender) || !isHeld(sender)) return;
    const flight = flights.get(id);
    if (flight?.end === "Ambiguous") return;
    const state =
      flight === undefined ? "is not sent" : flight.end === undefined ? "is under way" : "has a clear response";
    judge.violated("NoFalseUnknown", `object ${serial}: request ${id} counts as unknown, but it ${state} (${sender})`);
  }

  function check(record: StoredRecord, sender: string, { authorization = "" }: CoreRequest): string | undefined {
    const { account, keyVersion, recordedUID, uid } = record;
    if (record.sender !== sender) return `the record is that of ${record.sender}`;
    if (flights.has(record.id)) return "a request was sent for this record before";
    if (recordedUID !== undefined && recordedUID !== uid) return `the record is that of object ${recordedUID}`;
    if (account["baseURL"] !== SERVICE_URL) return `the record has no account: ${record.text}`;
    if (keyVersion === undefined) return `the record has no version of the key: ${record.text}`;
    const version = `${account["kind"]} ${account["name"]} ${keyVersion}`;
    const key = keys.get(version) ?? authorization;
    keys.set(version, key);
    return key === authorization ? undefined : "the record is that of another key";
  }

  /** @param flight its answer has reached its process */
  function judgeKept(flight: Flight): void {
    const { taskID, sender, serial, end } = flight;
    if (flight.isKept || taskID === undefined || end !== "Clear" || tamperedSerials.has(serial)) return;
    judge.violated("OutcomeKept", `task ${taskID} of object ${serial} is in no object, and ${sender} did not crash`);
  }

  return {
    sent(sender, request) {
      if (!createsSomething(request)) return;
      const serial = serialIn(JSON.stringify(request.body));
      if (serial === undefined || !uids.has(serial)) return;
      const candidates = [...(others.get(serial) ?? [])].flatMap((uid) => byObject.get(uid)?.at(-1) ?? []);
      const record = candidates.find(({ id, sender: by }) => by === sender && !flights.has(id)) ?? candidates.at(-1);
      const problem = record === undefined ? "there is no record" : check(record, sender, request);
      const what = `${sender} sends ${request.path} for object ${serial}`;
      if (problem !== undefined) judge.violated("RecordedBeforeSend", `${what}, but ${problem}`);
      if (record === undefined) return;
      const flight: Flight = { record, serial, sender, isKept: false, endedAt: 0 };
      flights.set(record.id, flight);
      flightOf.set(request, flight);
    },
    accepted(request, taskID) {
      const flight = flightOf.get(request);
      if (flight !== undefined) flight.taskID = taskID;
    },
    ended(request, end) {
      const flight = flightOf.get(request);
      flightOf.delete(request);
      if (flight === undefined || flight.end !== undefined) return;
      flight.end = end;
      flight.endedAt = now();
      if (end === "Clear" && flight.taskID !== undefined) unkept.add(flight);
    },
    tampered: (serial) => void tamperedSerials.add(serial),
    isTampered: (serial) => tamperedSerials.has(serial),
    of: (serial) => byObject.get(uids.get(serial) ?? "") ?? [],
    lastFlight: (serial) => [...flights.values()].findLast((flight) => flight.serial === serial),
    judgeEnd() {
      for (const flight of unkept) {
        const end = senders.endOf(flight.sender);
        // A process that loses its lease, or cannot reach the API server while it stops, has no way to write.
        if (end === undefined || (end.reason === "stopped" && !apiFails(flight.endedAt, end.at))) judgeKept(flight);
      }
    },
  };
}

const SUBMITTING = /^(gpuendpoints|speechjobs|videojobs)\./;
const KEEPS_TASKS = /^(speechjobs|videojobs|accounts|clusteraccounts|events)\./;

/** The record that an object shows. A job shows it while there is no outcome. */
export function recordOf(id: string, object: Json): StoredRecord | undefined {
  const uid = textAt(object["metadata"], "uid") ?? "";
  if (!id.startsWith("gpuendpoints.")) {
    const submission = objectAt(object["status"], "submission");
    if (submission["state"] !== "Intended") return undefined;
    return storedRecord(uid, submission, { account: objectAt(object["status"], "account"), text: "" });
  }
  const text = textAt(objectAt(object["metadata"], "annotations"), ANNOTATIONS.create);
  const record = text === undefined ? undefined : parseJson(text);
  if (text === undefined || !isJson(record)) return undefined;
  return { ...storedRecord(uid, record, { account: objectAt(record, "account"), text }) };
}

function storedRecord(uid: string, record: Json, { account, text }: Pick<StoredRecord, "account" | "text">) {
  return {
    id: textAt(record, "id") ?? "",
    uid,
    attempt: Number(record["attempt"]),
    sender: textAt(record, "sender")?.replace(`${OPERATOR_NAMESPACE}/`, ""),
    keyVersion: textAt(record, "keyVersion"),
    recordedUID: textAt(record, "uid"),
    account,
    text: text === "" ? JSON.stringify(record) : text,
  };
}

/** The request that an object treats as unknown: a job shows the state, an endpoint is looked for. */
function unknownIn(id: string, object: Json): string | undefined {
  const { submission } = objectAt(object, "status");
  if (!id.startsWith("gpuendpoints.")) {
    return textAt(submission, "state") === "Unknown" ? textAt(submission, "id") : undefined;
  }
  const { conditions } = objectAt(object, "status");
  const isLookedFor =
    Array.isArray(conditions) && conditions.some((one) => textAt(one, "message")?.includes(LOOKED_FOR) === true);
  return isLookedFor ? recordOf(id, object)?.id : undefined;
}
const LOOKED_FOR = "looking for app name";
