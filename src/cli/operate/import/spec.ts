import { WITHOUT_VALUES } from "../../../api/schema/wording.ts";
import { type DriftField, type GpuEndpointSpec, gpuEndpointSpecSchema } from "../../../api/v1alpha1/gpu-endpoint.ts";
import type { AccountRef } from "../../../api/v1alpha1/meta.ts";
import { endpointFields } from "../../../controllers/gpu-endpoint/fields.ts";
import type { EndpointRecord } from "../../../provider/endpoints/endpoint-record.ts";
import { type EnvMode, envFromSecret, MAX_SECRET_BYTES } from "./env.ts";

export type ImportOptions = {
  /** Written into `spec.accountRef`; undefined leaves it to the default account. */
  accountRef: AccountRef | undefined;
  env: EnvMode;
  managementPolicy: GpuEndpointSpec["managementPolicy"];
  deletionPolicy: GpuEndpointSpec["deletionPolicy"];
};

export type ImportedSpec = {
  /** As it is written; undefined when `problems` leave no spec that the API server would take. */
  spec: SpecDraft | undefined;
  /** `data` of the Secret with the values of the environment; undefined where none is needed. */
  secretData: Record<string, string> | undefined;
  /** Values that a GpuEndpoint cannot hold, one line each, starting with the field. */
  problems: string[];
  /** What the service shows and neither create nor update can set, one line each. */
  remarks: string[];
};

/** The fields of the API in the order of its documentation, not yet known to be valid. */
export type SpecDraft = Partial<Record<keyof GpuEndpointSpec, unknown>>;

/** Fields that a spec can leave to the service: with `ignoreDrift`, Mooring neither reports nor changes them. */
const CAN_BE_LEFT: ReadonlyMap<string, DriftField> = new Map(
  endpointFields.flatMap(({ path, optional, createOnly }) => (optional && !createOnly ? [[path, path]] : [])),
);

/**
 * The spec that matches an endpoint: it adopts the endpoint by its ID and plans no change. The schema of the API decides
 * what is valid. An invalid field is left to the service where that is possible, and always reported.
 * @param secretName the Secret that is to hold the environment
 */
export function importSpec(record: EndpointRecord, secretName: string, options: ImportOptions): ImportedSpec {
  const problems: string[] = [];
  const left = new Set<DriftField>();
  const draft = draftOf(record, options);

  if (record.ports.length > 1) {
    left.add("port");
    problems.push(
      `port: the service shows ${record.ports.length} ports (${record.ports.join(", ")}), a GpuEndpoint has one: left to the service by ignoreDrift`,
    );
  }
  if (options.env === "omit" && record.envs.length > 0) left.add("env");
  // Leaving a field to the service can make another one valid and never invalid, so this ends.
  const check = () => issuesOf(draft, record, options.env);
  for (let issues = check(); issues.size > 0; issues = check()) {
    let changed = false;
    for (const [field, message] of issues) {
      const leavable = field in draft ? CAN_BE_LEFT.get(field) : undefined;
      if (field === "appName") {
        delete draft.appName;
        problems.push(`appName: ${message}: left out, the endpoint keeps it`);
        changed = true;
      } else if (leavable !== undefined) {
        leave(draft, leavable, left);
        problems.push(`${field}: ${message}: left to the service by ignoreDrift`);
        changed = true;
      }
    }
    if (changed) continue;
    problems.push(...[...issues].map(([field, message]) => `${field}: ${message}`));
    return { spec: undefined, secretData: undefined, problems, remarks: remarksOf(record) };
  }

  const secretData = options.env === "secret" ? moveEnv(draft, record, secretName, { left, problems }) : undefined;
  if (left.size > 0) {
    draft.ignoreDrift = [...left];
    // Match compares every field. Override sends no update for these: they are left to the service.
    draft.adoption = { endpointID: record.id, mode: "Override" };
  }
  return { spec: definedOnly(draft), secretData, problems, remarks: remarksOf(record) };
}

function draftOf(record: EndpointRecord, options: ImportOptions): SpecDraft {
  const draft: SpecDraft = { accountRef: options.accountRef };
  for (const field of endpointFields) {
    if (field.path === "env" && options.env === "omit") continue;
    assignPath(draft, field.path, field.imported(record));
  }
  draft.ignoreDrift = undefined;
  draft.managementPolicy = options.managementPolicy;
  draft.adoption = { endpointID: record.id, mode: "Match" };
  draft.deletionPolicy = options.deletionPolicy;
  return draft;
}

/** Sets `workers.min` in the group `workers`, and any other path by its name. */
function assignPath(draft: Record<string, unknown>, path: string, value: unknown): void {
  const [group = path, name] = path.split(".");
  if (name === undefined) draft[group] = value;
  else draft[group] = { ...(isGroup(draft[group]) ? draft[group] : {}), [name]: value };
}

function isGroup(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** A network volume needs its cluster, so both are left to the service together. */
function leave(draft: SpecDraft, field: DriftField, left: Set<DriftField>): void {
  for (const each of field === "clusterID" ? (["volumes", "clusterID"] as const) : [field]) {
    left.add(each);
    Reflect.deleteProperty(draft, each);
  }
}

/** The first problem of each field of a draft. */
function issuesOf(draft: SpecDraft, record: EndpointRecord, mode: EnvMode): Map<string, string> {
  const issues = new Map<string, string>();
  for (const [field, value] of Object.entries(draft)) {
    const problem = field === "env" && value !== undefined ? envProblem(record.envs, mode) : textProblem(value);
    if (problem !== undefined) issues.set(field, problem);
  }
  const parsed = gpuEndpointSpecSchema.safeParse(definedOnly(draft), WITHOUT_VALUES);
  for (const { path, message } of parsed.success ? [] : parsed.error.issues) {
    const [field = "", ...rest] = path;
    // A value is not shown: it may be a secret.
    const where =
      rest.length === 0
        ? ""
        : `${rest.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("")} `;
    if (!issues.has(String(field))) issues.set(String(field), `${where}${message}`.replace(/^\./, ""));
  }
  return issues;
}

/**
 * Halves of characters, which no manifest can hold, and what server-side apply refuses or changes: it sends JSON that the
 * API server reads as YAML, where U+0085 is the end of a line and its neighbours are not allowed.
 */
const HALF = /\p{Surrogate}/u;
const CHANGED_ON_THE_WAY = /[\u007f-\u009f\ufffe\uffff]/u;

function textProblem(value: unknown, direct = true): string | undefined {
  if (typeof value === "object" && value !== null) {
    return Object.values(value)
      .map((part) => textProblem(part, direct))
      .find((problem) => problem !== undefined);
  }
  if (typeof value !== "string") return undefined;
  if (HALF.test(value)) return "holds half a character (a lone surrogate), which no manifest can";
  const [character] = (direct ? CHANGED_ON_THE_WAY.exec(value) : undefined) ?? [];
  if (character === undefined) return undefined;
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  return `holds the control character U+${code}, which the API server does not take unchanged`;
}

/** A Secret holds the values encoded; the names of the variables stay plain text. */
function envProblem(envs: EndpointRecord["envs"], mode: EnvMode): string | undefined {
  const values = envs.map(({ value }) => value);
  return textProblem(envs.map(({ key }) => key)) ?? textProblem(values, mode === "inline");
}

/** Replaces values by references. Returns the data of the Secret. */
function moveEnv(
  draft: SpecDraft,
  record: EndpointRecord,
  secretName: string,
  { left, problems }: { left: Set<DriftField>; problems: string[] },
): Record<string, string> | undefined {
  if (draft.env === undefined) return undefined;
  const { env, data, bytes } = envFromSecret(record.envs, secretName);
  if (bytes > MAX_SECRET_BYTES) {
    leave(draft, "env", left);
    problems.push(
      `env: ${bytes} bytes of values, a Secret holds ${MAX_SECRET_BYTES}: left to the service by ignoreDrift`,
    );
    return undefined;
  }
  draft.env = env;
  return data;
}

function remarksOf(record: EndpointRecord): string[] {
  const { type, entrypoint, scaling, healthCheck, details } = record;
  const remarks: string[] = [];
  if (type !== "" && type !== "sync") remarks.push(`type ${JSON.stringify(type)}`);
  if (entrypoint !== "") remarks.push(`entrypoint ${JSON.stringify(entrypoint)}`);
  if (scaling.minCudaVersion !== "") remarks.push(`CUDA version ${JSON.stringify(scaling.minCudaVersion)}`);
  if (healthCheck.port !== undefined && healthCheck.port !== 0 && healthCheck.port !== record.ports[0]) {
    remarks.push(`health check on port ${healthCheck.port}`);
  }
  const timing = Object.entries(details?.health ?? {}).filter(([, value]) => value !== undefined);
  if (timing.length > 0) remarks.push(`health check ${timing.map(([name, value]) => `${name} ${value}`).join(", ")}`);
  return remarks;
}

export function definedOnly(draft: SpecDraft): SpecDraft {
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
}
