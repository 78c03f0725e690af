import { PAID } from "../../faults/paid-calls.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import { differences } from "../perturbation/outcome.ts";
import type { Stage } from "../stage/stage.ts";
import { apiOf, type Result } from "./admission.ts";
import { type Base, specFor } from "./bases.ts";
import { withValue } from "./paths.ts";
import { parameterMismatches, requestMismatch } from "./remote.ts";
import type { Field } from "./schema.ts";
import { type Snapshot, settled } from "./settle.ts";
import { type Candidate, candidatesOf } from "./values.ts";

/** What became of the values of one field. `wrong`: breaches of the oracles. */
export type FieldReport = {
  kind: string;
  path: string;
  /** Values that the object took. */
  changes: number;
  /** Values that the API server refused. */
  rejections: number;
  /** Valid values that the API server refused because the field is immutable. */
  immutable: number;
  wrong: string[];
};

const isJob = (kind: string) => kind.endsWith("Job");
/** What a spec leads to depends on whether the endpoint exists already. */
const PATH_DEPENDENT = /^(managementPolicy|adoption)/;
/** A job that was not suspended once has run, and keeps its outcome. */
const NO_WAY_BACK: Record<string, RegExp> = { SpeechJob: /^suspend$/, VideoJob: /^suspend$/ };

/** Drives one field of an object from its base through all values and back. */
export async function driveField(stage: Stage, base: Base, field: Field): Promise<FieldReport> {
  const { kind } = base;
  const name = `${base.name}-${slugOf(field.path)}`;
  const api = apiOf(stage, kind);
  const report: FieldReport = { kind, path: field.path, changes: 0, rejections: 0, immutable: 0, wrong: [] };
  const spec = specFor(base.spec, name);
  const first = await api.create(name, spec);
  if (first.kind !== "Applied") return { ...report, wrong: [`the base is refused: ${first.message}`] };
  const origin = await settled(stage, kind, first.object);
  const wanted = base.ready ?? (isJob(kind) ? "False Suspended" : "True");
  if (!origin.ready.startsWith(wanted)) report.wrong.push(`Ready of the base is ${origin.ready}, expected ${wanted}`);

  let before = origin;
  for (const [index, candidate] of candidatesOf(kind, field, base.spec).entries()) {
    const shown = JSON.stringify(candidate.value)?.slice(0, 60) ?? "absent";
    const complain = (problems: string[]) => report.wrong.push(...problems.map((problem) => `${shown}: ${problem}`));
    const changed = withValue(base.spec, field.path, candidate.value);
    const result = await api.update(name, specFor(changed, name));
    complain(surprises(candidate, result));
    if (result.kind === "Immutable") report.immutable += 1;
    if (result.kind === "Rejected") report.rejections += 1;
    if (result.kind === "Applied") {
      report.changes += 1;
      const after = await settled(stage, kind, result.object);
      complain(remoteProblems(kind, before, after));
      before = after;
    }
    if (result.kind === "Applied" || (result.kind === "Immutable" && candidate.expected !== "Rejected")) {
      const twin = `${name}-${index}`;
      const after = result.kind === "Applied" ? before : undefined;
      complain(await compareWithScratch({ twin, scratchSpec: specFor(changed, twin), after }));
    }
  }
  const last = await api.update(name, spec);
  if (last.kind !== "Applied") report.wrong.push(`the way back is refused: ${last.message}`);
  else if (NO_WAY_BACK[kind]?.test(field.path) !== true) {
    const end = await settled(stage, kind, last.object);
    report.wrong.push(...differences(origin.remote, end.remote).map((line) => `after the rollback: remote: ${line}`));
    report.wrong.push(...differences(origin.status, end.status).map((line) => `after the rollback: ${line}`));
  }
  await api.remove(name);
  return report;

  /** The same spec from scratch leads to the same. For a job, which cannot change, its request shows the value. */
  async function compareWithScratch(one: {
    twin: string;
    scratchSpec: Record<string, unknown>;
    after: Snapshot | undefined;
  }): Promise<string[]> {
    const { twin, scratchSpec, after } = one;
    const created = await api.create(twin, isJob(kind) ? { ...scratchSpec, suspend: false } : scratchSpec);
    // A rule on several fields refuses the value, with another message than the immutable field does.
    if (created.kind !== "Applied") return after === undefined ? [] : [`refused from scratch: ${created.message}`];
    const scratch = await settled(stage, kind, created.object);
    await api.remove(twin);
    if (isJob(kind)) return requestProblems(stage, field.path, scratch.object);
    if (after === undefined) return remoteProblems(kind, scratch, scratch);
    if (PATH_DEPENDENT.test(field.path)) return [];
    // The object itself has the name of the export.
    if (scratch.stalled === "ExportConflict") return [];
    // An object that cannot be reconciled keeps what its last spec led to.
    if (!after.ready.startsWith("True") || !scratch.ready.startsWith("True")) {
      return after.ready === scratch.ready ? [] : [`Ready is ${after.ready}, from scratch: ${scratch.ready}`];
    }
    return [
      ...differences(scratch.remote, after.remote).map((line) => `not as from scratch: remote: ${line}`),
      ...differences(scratch.status, after.status).map((line) => `not as from scratch: ${line}`),
    ];
  }
}

/** The API server did not do what the value is meant for. */
export function surprises({ expected }: Candidate, result: Result): string[] {
  if (expected === "Rejected" && result.kind === "Applied") return ["is invalid and was accepted"];
  if (expected === "Accepted" && result.kind === "Rejected") return [`is refused: ${result.message}`];
  return [];
}

/** An endpoint that is in sync matches its spec. A stalled one is untouched. */
function remoteProblems(kind: string, before: Snapshot, after: Snapshot): string[] {
  if (kind !== "GpuEndpoint") return [];
  const { object } = after;
  if (after.stalled !== "")
    return differences(before.remote, after.remote).map((line) => `stalled, and remote: ${line}`);
  const synced = condition(object, "Synced");
  if (synced?.status !== "True") {
    return after.ready.startsWith("True") ? [`Synced is ${synced?.status} ${synced?.reason}`] : [];
  }
  if (after.remote.length === 0) return [];
  return parameterMismatches(object.spec, after.parameters);
}

/** The request of a job that was sent shows the value. */
async function requestProblems(stage: Stage, path: string, job: AnyObject): Promise<string[]> {
  const audit = await stage.audit();
  const request = audit.find(({ operation, id, body, effect }) => {
    if (!PAID.includes(operation) || effect === undefined) return false;
    const { taskID } = job.status ?? {};
    return taskID === undefined ? JSON.stringify(body).includes(`Ahoy ${job.metadata.name}.`) : id === taskID;
  });
  return request === undefined ? [] : requestMismatch(path, job.spec, request);
}

export function slugOf(path: string): string {
  const words = path.replaceAll("[]", ".item").replace(/[^A-Za-z]+/g, "-");
  return words.replace(/-$/, "").toLowerCase();
}
