import { isDeepStrictEqual } from "node:util";
import type { Service } from "../../../src/simulator/service.ts";
import { type Json, objectAt, textAt } from "../api-server/json.ts";
import type { Storage } from "../api-server/storage.ts";
import { endpointContradictions } from "./endpoint-status.ts";
import { jobContradictions, type StatusWorld, statusPathOf } from "./job-status.ts";
import { condition, conditionsOf } from "./stability.ts";

/** Kinds that have conditions. */
const KINDS = [
  "Account",
  "ClusterAccount",
  "ArtifactStore",
  "BillReport",
  "GpuEndpoint",
  "MediaBatch",
  "SpeechJob",
  "VideoJob",
];

/**
 * How a status contradicts its object, the status that it replaces, or what the service has: what docs/reference/api.md says of statuses.
 * Empty: it does not. `before`: the object as it was. `now`: of the API server, ms since the epoch.
 */
function contradictions(object: Json, before: Json | undefined, world: StatusWorld): string[] {
  const kind = textAt(object, "kind") ?? "";
  if (!KINDS.includes(kind) || conditionsOf(object).length === 0) return [];
  return [
    ...conditionProblems(object, before, world.now),
    ...(/Job$/.test(kind) ? jobContradictions(object, before, world) : []),
    ...(kind === "GpuEndpoint" ? endpointContradictions(object, before, world.service) : []),
  ];
}

type Watched = {
  storage: Storage;
  service: Service;
  /** Statuses that somebody else changed. */
  isTampered?: (object: Json) => boolean;
  /** Paths of statuses that the API server refused because of a fault. */
  refusedStatuses?: Set<string>;
  tell: (object: Json, problems: string[]) => void;
};

/** Looks at each status as it is stored, once: another change of its object is no news of it. */
export function watchStatuses(watched: Watched): void {
  const { storage, service, isTampered = () => false, refusedStatuses = new Set(), tell } = watched;
  const takesRefusal = (job: Json) => refusedStatuses.delete(statusPathOf(job));
  const known = new Map<string, Json>();
  storage.onRestore(() => known.clear());
  storage.onEvent((_, { object, type }) => {
    const uid = textAt(object["metadata"], "uid") ?? "";
    const before = known.get(uid);
    if (type === "DELETED") known.delete(uid);
    else known.set(uid, object);
    if (type === "DELETED" || isTampered(object) || isDeepStrictEqual(object["status"], before?.["status"])) return;
    const problems = contradictions(object, before, { service, now: service.now(), takesRefusal });
    if (problems.length > 0) tell(object, problems);
  });
}

/** They tell of one endpoint of the service, and go with it. */
const OF_ENDPOINT = ["Synced", "Stopped"];
const endpointOf = (object: Json | undefined) => textAt(object?.["status"], "endpointID");

/** Clocks of two processes differ by less. */
const SKEW_MS = 2_000;

function conditionProblems(object: Json, before: Json | undefined, now: number): string[] {
  const found: string[] = [];
  const { generation } = objectAt(object, "metadata");
  const { observedGeneration = 0 } = objectAt(object, "status");
  const [ready, stalled, reconciling] = ["Ready", "Stalled", "Reconciling"].map((type) =>
    textAt(condition(object, type), "status"),
  );
  if (ready === undefined) found.push("there is no condition Ready");
  if (stalled === "True" && reconciling === "True") found.push("it is both Stalled and Reconciling");
  if (stalled === "True" && ready !== "False") found.push(`Stalled=True comes with Ready=${ready}`);
  if (stalled === "False" || reconciling === "False") found.push("Stalled or Reconciling is present with False");
  if (Number(observedGeneration) > Number(generation)) found.push(`observes a generation after ${generation}`);
  const readyGeneration = condition(object, "Ready")?.["observedGeneration"] ?? observedGeneration;
  if (readyGeneration !== observedGeneration)
    found.push(`Ready is of generation ${readyGeneration}, not ${observedGeneration}`);
  for (const one of conditionsOf(object)) {
    const [type, status] = [textAt(one, "type"), textAt(one, "status")];
    const isAnother = OF_ENDPOINT.includes(type ?? "") && endpointOf(before) !== endpointOf(object);
    const was = isAnother ? undefined : condition(before, type ?? "");
    const [at, atBefore] = [one, was].map((it) => textAt(it, "lastTransitionTime"));
    if (Date.parse(at ?? "") > now + SKEW_MS) found.push(`${type} changes in the future, at ${at}`);
    if (was !== undefined && was["status"] === status && at !== atBefore)
      found.push(`${type} has a new time, and is ${status} as before`);
    if (was !== undefined && was["status"] !== status && Date.parse(at ?? "") < Date.parse(atBefore ?? "") - SKEW_MS) {
      found.push(`${type} becomes ${status} before it was ${was["status"]}`);
    }
    if ((textAt(one, "message") ?? "") === "" || (textAt(one, "reason") ?? "") === "") {
      found.push(`${type} has no reason or no message`);
    }
  }
  return found;
}
