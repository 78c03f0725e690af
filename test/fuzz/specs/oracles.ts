import { manifestProblems } from "../../../src/api/manifest/manifest-problems.ts";
import { MESSAGE_LIMIT } from "../../../src/api/v1alpha1/conditions.ts";
import { gpuEndpointResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import { isJson, type Json, objectAt, textAt } from "../../sim/api-server/json.ts";
import type { Storage } from "../../sim/api-server/storage.ts";
import { condition } from "../../sim/invariants/stability.ts";
import type { PlacedAt } from "../../sim/scenario/cluster.ts";
import { specSchemaOf } from "../../sim/transitions/schema.ts";
import { breachesOf, statusSchemaOf } from "../../support/crd-schema.ts";
import { HEALTHY } from "./cases.ts";
import { pathOf, placesOf } from "./places.ts";
import { CANARY, type Observed, type ServiceCall, type SpecWorld } from "./world.ts";

export type Facts = { kind: string; resource: Resource; object: Json | undefined; observed: Observed };

/** Writes of an object in a quiet minute: a task's progress, or a retry that tells another message. */
const MOST_WRITES = 3;
/** Their status shows when the account or its bills were last read. The shortest interval is a second. */
const READS_AT_INTERVALS = ["accounts", "clusteraccounts", "billreports"];
const MOST_READS = 65;
/** What a refused spec must not lead to. */
const SENT = ["TaskSubmitted", "SpeechSynthesized", "EndpointCreated", "EndpointUpdated"];
/** Of other kinds, only the objects that use them send anything. */
const SENDING = ["GpuEndpoint", "SpeechJob", "VideoJob"];

/** What is wrong with what the operator did; empty when nothing is. */
export function problemsOf({ kind, resource, object, observed }: Facts): string[] {
  const { writes, calls, log, exits } = observed;
  return [
    ...exits.map((reason) => `the operator ends: ${reason}`),
    ...writes.flatMap((write) => {
      const text = JSON.stringify(write.body ?? null);
      const where = `${write.method} ${write.path}`;
      const isRefused = write.status === 400 || write.status === 422;
      return [
        ...(text.includes(CANARY) ? [`${where} shows a secret: ${around(text)}`] : []),
        ...(isRefused ? [`the API server refuses ${where} with ${write.status}: ${text.slice(0, 500)}`] : []),
      ];
    }),
    ...log.flatMap((line) => [
      ...(line.includes(CANARY) ? [`the log shows a secret: ${around(line)}`] : []),
      ...(isError(line) ? [`the log has an error: ${line.slice(0, 1_500)}`] : []),
    ]),
    ...calls.flatMap(excludedValue),
    ...(object === undefined ? [] : statusProblems(resource, objectAt(object, "status"))),
    ...refusedAndSent({ kind, resource, object, observed }),
  ];
}

/** What is wrong with a status by itself: values that the schema refuses, messages that do not help. */
export function statusProblems({ kind, plural }: Resource, status: Json): string[] {
  const breaches = breachesOf(statusSchemaOf(plural), status).filter((breach) => !OF_SPEC.test(breach));
  const secret = JSON.stringify(status).includes(CANARY) ? ["the status shows a secret"] : [];
  return [...breaches, ...secret, ...messageProblems(kind, status)];
}

/** Identifiers of API keys, as the spec has them. */
const OF_SPEC = /^status\.keyIDs\[\d+\]: control characters$/;
/** A status is written, or a call is made, while the user deletes the object or its account. */
const OF_DELETED = /\\" not found"|"[a-zA-Z]+: the call was aborted before it was sent"/;

function isError(line: string): boolean {
  return /"level":(50|60)/.test(line) && !OF_DELETED.test(line);
}

function around(text: string): string {
  const at = text.indexOf(CANARY);
  return text.slice(Math.max(0, at - 300), at + 100);
}

/** The service finds a value that the interface excludes. */
function excludedValue({ request, answer }: ServiceCall): string[] {
  const { method, path } = request;
  if (answer.status !== 400 || !isObject(answer.body)) return [];
  const { reason, message } = answer.body;
  return reason === "INVALID_REQUEST_PARAMETER" ? [`${method} ${path} has an excluded value: ${String(message)}`] : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** The results of the simulated service are behind URLs that nothing serves. */
const NOT_SERVED = /is not copied yet: .* cannot be read: connect ECONNREFUSED$/;

/** Conditions are bounded and one line, and a refused value is named. */
function messageProblems(kind: string, status: Json): string[] {
  const conditions = Array.isArray(status["conditions"]) ? status["conditions"].filter(isJson) : [];
  return conditions.flatMap((one) => {
    const [type, reason, message = ""] = ["type", "reason", "message"].map((field) => textAt(one, field));
    const where = `${type} ${reason}: ${message}`;
    return [
      ...([...message].length > MESSAGE_LIMIT ? [`a message is too long: ${where}`] : []),
      ...(reason === "Retrying" && !NOT_SERVED.test(message) ? [`an unexpected error: ${where}`] : []),
      ...(reason === "InvalidSpec" && !namesField(kind, message) ? [`names no field: ${where}`] : []),
    ];
  });
}

const names = new Map<string, string[]>();

function namesField(kind: string, message: string): boolean {
  const known =
    names.get(kind) ?? placesOf(specSchemaOf(kind)).map((place) => pathOf(place).split(/[.[]/).at(-1) ?? "");
  names.set(kind, known);
  return known.some((name) => name.length > 3 && message.includes(name));
}

/** The operator or a rule of the kind refuses the spec, and it is sent all the same. */
function refusedAndSent({ kind, object, observed }: Facts): string[] {
  if (object === undefined || !SENDING.includes(kind)) return [];
  const isRefused = textAt(condition(object, "Ready"), "reason") === "InvalidSpec";
  if (!isRefused && (manifestProblems(object) ?? []).length === 0) return [];
  return observed.calls
    .filter(({ request, answer }) => SENT.includes(answer.effect ?? "") && !isOfHealthy(request.body))
    .map(({ answer }) => `the spec is refused, and ${answer.operation} is sent`);
}

const isOfHealthy = (body: unknown) => JSON.stringify(body).includes(HEALTHY.name);

/** Counts the writes of an object until the returned function is called. */
export function countWrites({ onEvent }: Storage, { plural, group }: Resource, name: string): () => string[] {
  let count = 0;
  const stop = onEvent((id, { object }) => {
    if (id === `${plural}.${group}` && textAt(object["metadata"], "name") === name) count += 1;
  });
  return () => {
    stop();
    return count > (READS_AT_INTERVALS.includes(plural) ? MOST_READS : MOST_WRITES)
      ? [`is written ${count} times in a minute in which nothing changes`]
      : [];
  };
}

/** The healthy object was processed meanwhile. */
export function healthProblems({ cluster, service }: SpecWorld, healthy: PlacedAt, max: number): string[] {
  const object = cluster.get(gpuEndpointResource, healthy) ?? {};
  const status = objectAt(object, "status");
  const remote = service.endpoints.all().find(({ id }) => id === status["endpointID"]);
  const isCurrent = status["observedGeneration"] === objectAt(object, "metadata")["generation"];
  const isReady = textAt(condition(object, "Ready"), "status") === "True";
  if (isCurrent && isReady && remote?.parameters.workerConfig.maxNum === max) return [];
  return [`the healthy object is not processed: ${JSON.stringify(status).slice(0, 500)}`];
}
