import { KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { isNotFound, KubeError } from "../../src/kube/errors.ts";
import type { Resource } from "../../src/kube/resource.ts";
import { PAID } from "../faults/paid-calls.ts";
import { differences } from "../sim/perturbation/outcome.ts";
import { type AnyObject, condition, type World } from "../support/world.ts";
import { type Base, specFor } from "./bases.ts";
import type { Observer, Snapshot } from "./observer.ts";
import { withValue } from "./paths.ts";
import { parameterMismatches, requestMismatch } from "./remote.ts";
import type { Field } from "./schema.ts";
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

type Result = { kind: "Applied"; object: AnyObject } | { kind: "Rejected"; message: string };

const isJob = (kind: string) => kind.endsWith("Job");
/** What a spec leads to depends on whether the endpoint exists already. */
const PATH_DEPENDENT = /^(managementPolicy|adoption)/;
/** A job that was not suspended once has run, and keeps its outcome. */
const NO_WAY_BACK: Record<string, RegExp> = { SpeechJob: /^suspend$/, VideoJob: /^suspend$/ };

/** Drives one field of an object from its base through all values and back. */
export async function driveField(world: World, observer: Observer, base: Base, field: Field): Promise<FieldReport> {
  const { kind } = base;
  const name = `${base.name}-${slugOf(field.path)}`;
  const api = apiOf(world, kind);
  const report: FieldReport = { kind, path: field.path, changes: 0, rejections: 0, immutable: 0, wrong: [] };
  const spec = specFor(base.spec, name);
  const first = await api.create(name, spec);
  if (first.kind === "Rejected") return { ...report, wrong: [`the base is refused: ${first.message}`] };
  const origin = await observer.settled(kind, name, first.object.metadata.generation ?? 0);

  let before = origin;
  for (const [index, candidate] of candidatesOf(kind, field, base.spec).entries()) {
    const shown = JSON.stringify(candidate.value)?.slice(0, 60) ?? "absent";
    const complain = (problems: string[]) => report.wrong.push(...problems.map((problem) => `${shown}: ${problem}`));
    const changed = withValue(base.spec, field.path, candidate.value);
    const result = await api.update(name, specFor(changed, name));
    const isImmutable = result.kind === "Rejected" && /cannot be changed|immutable/i.test(result.message);
    complain(surprises(candidate, result, isImmutable));
    if (result.kind === "Rejected") {
      if (isImmutable) report.immutable += 1;
      else report.rejections += 1;
    } else {
      report.changes += 1;
      const after = await observer.settled(kind, name, result.object.metadata.generation ?? 0);
      complain(remoteProblems(kind, before, after));
      before = after;
    }
    if (result.kind === "Applied" || (isImmutable && candidate.expected !== "Rejected")) {
      const twin = `${name}-${index}`;
      complain(
        await compareWithScratch({
          twin,
          scratchSpec: specFor(changed, twin),
          after: result.kind === "Applied" ? before : undefined,
        }),
      );
    }
  }
  const last = await api.update(name, spec);
  if (last.kind === "Rejected") report.wrong.push(`the way back is refused: ${last.message}`);
  else if (NO_WAY_BACK[kind]?.test(field.path) !== true) {
    const end = await observer.settled(kind, name, last.object.metadata.generation ?? 0);
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
    if (created.kind === "Rejected") return after === undefined ? [] : [`refused from scratch: ${created.message}`];
    const scratch = await observer.settled(kind, twin, created.object.metadata.generation ?? 0);
    // Accounts take turns: the fewer there are, the sooner each is reconciled.
    await api.remove(twin);
    if (isJob(kind)) return requestProblems(world, field.path, scratch.object);
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
function surprises({ expected }: Candidate, result: Result, isImmutable: boolean): string[] {
  if (expected === "Rejected" && result.kind === "Applied") return ["is invalid and was accepted"];
  if (expected === "Accepted" && result.kind === "Rejected" && !isImmutable) return [`is refused: ${result.message}`];
  return [];
}

/** An endpoint that is in sync matches its spec. A stalled one is untouched. */
function remoteProblems(kind: string, before: Snapshot, after: Snapshot): string[] {
  if (kind !== "GpuEndpoint") return [];
  const { object } = after;
  if (after.stalled !== "")
    return differences(before.remote, after.remote).map((line) => `stalled, and remote: ${line}`);
  const isSynced = condition(object, "Synced")?.status === "True";
  if (!isSynced || after.remote.length === 0) return [];
  return parameterMismatches(object.spec, after.parameters);
}

/** The request of a job that was sent shows the value. */
async function requestProblems(world: World, path: string, job: AnyObject): Promise<string[]> {
  const audit = await world.audit();
  const request = audit.find(({ operation, id, body, effect }) => {
    if (!PAID.includes(operation) || effect === undefined) return false;
    const { taskID } = job.status ?? {};
    return taskID === undefined ? JSON.stringify(body).includes(`Ahoy ${job.metadata.name}.`) : id === taskID;
  });
  return request === undefined ? [] : requestMismatch(path, job.spec, request);
}

function slugOf(path: string): string {
  const words = path.replaceAll("[]", ".item").replace(/[^A-Za-z]+/g, "-");
  return words.replace(/-$/, "").toLowerCase();
}

/** Creates and updates objects of a kind, and tells refusals from failures. */
function apiOf({ kube, namespace }: World, kind: string) {
  const resource = resourceOf(kind);
  const place = resource.namespaced ? { namespace } : {};

  async function attempt(write: () => Promise<AnyObject>): Promise<Result> {
    try {
      return { kind: "Applied", object: await write() };
    } catch (error) {
      if (!(error instanceof KubeError) || ![400, 422].includes(error.status)) throw error;
      return { kind: "Rejected", message: error.message };
    }
  }
  return {
    create: (name: string, spec: Record<string, unknown>) =>
      attempt(() =>
        kube.create<AnyObject>(resource, place, {
          apiVersion: "mooring.dev/v1alpha1",
          kind,
          metadata: { name, ...place },
          spec,
        }),
      ),
    /** A job may be gone already. */
    remove: (name: string) =>
      kube.delete(resource, { ...place, name }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      }),
    async update(name: string, spec: Record<string, unknown>): Promise<Result> {
      for (;;) {
        const object = await kube.get<AnyObject>(resource, { ...place, name });
        const result = await attempt(() =>
          kube.update<AnyObject>(resource, { ...place, name }, { ...object, spec }),
        ).catch((error: unknown) => {
          if (error instanceof KubeError && error.status === 409) return undefined;
          throw error;
        });
        if (result !== undefined) return result;
      }
    },
  };
}

function resourceOf(kind: string): Resource {
  const found = KINDS.find(({ resource }) => resource.kind === kind);
  if (found === undefined) throw new Error(`there is no kind ${kind}`);
  return found.resource;
}
