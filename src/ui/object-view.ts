import { stringify } from "yaml";
import { paidOperation } from "../controllers/jobs/types.ts";
import { eventsOf, historyOf, type KubeEvent } from "../describe/history.ts";
import { objectState } from "../describe/object-state.ts";
import { offersOf } from "../describe/offers.ts";
import { resolutionOf } from "../describe/resolution.ts";
import { isForbidden } from "../kube/errors.ts";
import { actionsOf } from "./actions.ts";
import type { ClusterSession, Found } from "./cluster-session.ts";
import { nextStepOf } from "./next-step.ts";
import { resultsOf, versionsOf, withoutQuery } from "./result-view.ts";
import { itemsText, rowOf, textOf } from "./row.ts";
import { isJob, type UiObject } from "./ui-object.ts";
import type { HaltView, MomentView, ObjectView, WorkerView } from "./view-types.ts";

/** Everything that the page of one object shows. Reads its events from the cluster. */
export async function objectView(session: ClusterSession, found: Found): Promise<ObjectView> {
  const { resource, object } = found;
  const { kind } = resource;
  const { conditions = [], drift = [], url } = object.status ?? {};
  const { events, missing } = await readEvents(session, object);
  const row = { ...rowOf(kind, object), message: objectState(object).message };
  return {
    row,
    text: textOf(object),
    next: nextStepOf(kind, row.state, object),
    actions: actionsOf(resource, object),
    commands: offersOf(kind, object),
    halt: haltOf(session, kind, object),
    conditions: conditions.map(({ lastTransitionTime, ...condition }) => ({ ...condition, since: lastTransitionTime })),
    drift: [...drift],
    facts: factsOf(object),
    results: resultsOf(kind, object),
    versions: versionsOf(kind, object, session.objects(kind)),
    workers: workersOf(object),
    url,
    history: timelineOf(object, events),
    eventsMissing: missing,
    spec: yamlOf(object.spec),
    status: yamlOf(withoutSignatures(object.status)),
  };
}

async function readEvents(
  { client }: ClusterSession,
  object: UiObject,
): Promise<{ events: KubeEvent[]; missing?: string }> {
  try {
    return { events: await eventsOf(client, object) };
  } catch (error) {
    if (isForbidden(error)) return { events: [], missing: "You may not list events in this namespace" };
    const reason = error instanceof Error ? error.message : String(error);
    return { events: [], missing: `The events cannot be read: ${reason}` };
  }
}

/** What happened, oldest first. The conditions are shown once, beside it. The phases of a job are those of its status. */
function timelineOf(object: UiObject, events: readonly KubeEvent[]): MomentView[] {
  const moments = historyOf(object, events)
    .filter(({ what }) => what !== "Condition")
    .map((moment) => ({ ...moment, important: moment.what === "Object" || moment.text.startsWith("Warning ") }));
  const phases = (object.status?.timeline ?? []).map(({ phase, time, attempt, reason, taskID }) => {
    const details = [
      attempt > 1 ? `attempt ${attempt}` : "",
      reason === undefined || reason === phase ? "" : reason,
      taskID === undefined ? "" : `task ${taskID}`,
    ];
    const text = details.filter((detail) => detail !== "").join(", ");
    return { time, what: phase, text, important: true };
  });
  return [...moments, ...phases].sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
}

/** What the cluster knows of a halted job's request. The bills are at the service, which the page does not call. */
function haltOf(session: ClusterSession, kind: string, object: UiObject): HaltView | undefined {
  if (object.status?.phase !== "Halted" || !isJob(kind, object)) return undefined;
  const { requestTime, attempt, operation, decisions, message } = resolutionOf(kind, object);
  const { consumption } = object.status;
  const day = requestTime.slice(0, 10);
  const sentThen = session
    .objects(kind)
    .filter((job) => isJob(kind, job) && job.status?.submitTime?.startsWith(day) && paidOperation(job) === operation);
  return {
    // The rest of the message has the commands that the actions stand for.
    outcome: message.split(". ", 1)[0] ?? "",
    requestTime,
    attempt,
    operation,
    quantity: consumption && `${consumption.quantity.toLocaleString("en")} ${consumption.unit.toLowerCase()}`,
    sameDay: sentThen.length,
    command: decisions[0]?.command.replace(/ --.*/, "") ?? "",
  };
}

function workersOf({ status }: UiObject): WorkerView[] {
  return (status?.workers?.items ?? []).map(({ error = "", message = "", log, ...worker }) => ({
    ...worker,
    problem: [error, message].filter((text) => text !== "").join(": "),
    // An address that the service gave: a browser opens no other scheme.
    log: log !== undefined && /^https?:\/\//.test(log) ? log : undefined,
  }));
}

function factsOf({ metadata, spec, status }: UiObject): [string, string][] {
  const { workers, policy, baseURL } = spec;
  const observed = status?.workers;
  const facts: [string, string | number | undefined][] = [
    ["Voice", spec.voiceSetting?.voiceID],
    ["Model", spec.model ?? status?.model],
    ["Items", itemsText(status)],
    ["Cost so far", yuan(status?.costSoFar)],
    ["Expected cost", yuan(status?.expectedCost)],
    ["List of results", status?.index?.uri],
    ["Image", spec.image],
    ["Image at the service", status?.image === spec.image ? undefined : status?.image],
    ["State at the service", status?.remote?.status],
    ["Error at the service", status?.remote?.error],
    ["Workers", observed && `${observed.ready ?? 0} ready of ${observed.total ?? 0}`],
    ["Workers in the spec", workers && `${workers.min} to ${workers.max}`],
    ["Scaling policy", policy && `${policy.type}, ${policy.value}${policy.type === "queue" ? " s" : ""}`],
    ["Requests per worker", workers?.maxConcurrency],
    ["Idle timeout", workers && `${workers.idleTimeoutSeconds} s`],
    ...costFacts(status?.estimatedCost),
    ["Duration", status?.duration],
    ["Attempts", status?.attempts === 1 ? undefined : status?.attempts],
    ["Task", status?.taskID],
    ["Endpoint ID", status?.endpointID],
    ["Copied to", spec.output && `ArtifactStore ${spec.output.storeRef.name}`],
    ["Base URL", baseURL],
    ["Account", status?.account && `${status.account.kind} ${status.account.name}`],
    ["Created", metadata.creationTimestamp],
  ];
  return facts.flatMap(([label, value]): [string, string][] =>
    value === undefined || value === "" ? [] : [[label, String(value)]],
  );
}

/** Of a job, or of an endpoint. */
function costFacts(cost: NonNullable<UiObject["status"]>["estimatedCost"]): [string, string | undefined][] {
  if (cost === undefined || typeof cost === "string") return [["Estimated cost", yuan(cost)]];
  return [
    ["Estimated cost this month", yuan(cost.month)],
    ["Cost of an hour now", yuan(cost.hour)],
    ["Cost of an hour with all workers", yuan(cost.maxHour)],
  ];
}

const yuan = (amount: string | undefined) => (amount === undefined ? undefined : `¥${amount}`);

/** A signed URL gives access to the result. So the page gets results from its own server only. */
function withoutSignatures(status: UiObject["status"]): UiObject["status"] {
  if (status?.results === undefined) return status;
  const results = status.results.map(({ url, address, ...result }) => ({
    ...result,
    ...(url === undefined ? {} : { url: withoutQuery(url) }),
    ...(address === undefined ? {} : { address: withoutQuery(address) }),
  }));
  return { ...status, results };
}

function yamlOf(value: unknown): string {
  return value === undefined ? "" : stringify(value, { compat: "yaml-1.1", lineWidth: 0 });
}
