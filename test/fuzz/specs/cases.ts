import fc from "fast-check";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { isJson, type Json } from "../../sim/api-server/json.ts";
import { basesOf } from "../../sim/transitions/bases.ts";
import { type Schema, specSchemaOf } from "../../sim/transitions/schema.ts";
import { type Edit, edit, edited } from "./edits.ts";
import { jsonOf } from "./places.ts";

/** An object of a kind whose spec is a base with edits, and then changes. `base`: which of the kind's bases. */
export type Case = { kind: string; base: number; first: Edit[]; updates: Edit[][] };

export const NAMESPACE = "team-a";
/** An endpoint whose workers change with each case. */
export const HEALTHY = { namespace: NAMESPACE, name: "healthy" };
/** Nothing listens there: what leaves the process in spite of the simulated network is refused at once. */
export const NOWHERE = "http://127.0.0.1:9";

const KIND_NAMES = KINDS.map(({ resource }) => resource.kind);
const schemas = new Map<string, Schema>(KIND_NAMES.map((kind) => [kind, specSchemaOf(kind)]));
const bases = basesOf({ namespace: NAMESPACE, simulator: { url: NOWHERE } });

const edits = (least: number, most: number) => fc.array(edit, { minLength: least, maxLength: most });

/** Specs of all kinds. Most have few edits, so that the API server stores them. */
export const anyCase: fc.Arbitrary<Case> = fc.record({
  kind: fc.constantFrom(...KIND_NAMES),
  base: fc.nat(10),
  first: fc.oneof({ weight: 1, arbitrary: edits(0, 0) }, { weight: 4, arbitrary: edits(1, 2) }, edits(3, 6)),
  updates: fc.array(edits(1, 3), { maxLength: 2 }),
});

/** The specs of a case, one after the other, for the object `name`. `url`: the service. */
export function specsOf({ kind, base, first, updates }: Case, name: string, url = NOWHERE): Json[] {
  const schema = schemas.get(kind);
  const own = bases.filter((one) => one.kind === kind);
  const chosen = own[base % own.length];
  if (schema === undefined || chosen === undefined) throw new Error(`no base has the kind ${kind}`);
  const started = jsonOf(JSON.parse(JSON.stringify(chosen.spec).replaceAll("NAME", name).replaceAll(NOWHERE, url)));
  if (!isJson(started)) throw new Error(`the base of ${kind} is no object`);
  const { suspend: _suspended, ...running } = started;
  const specs = [edited(kind, schema, kind.endsWith("Job") ? running : started, first)];
  for (const update of updates) specs.push(edited(kind, schema, specs.at(-1) ?? {}, update));
  return specs;
}

/** Fields that a rule of the CRD, which the API server in memory does not evaluate, keeps as they are. */
const CHANGEABLE: Record<string, readonly string[]> = {
  SpeechJob: ["suspend", "ttlSecondsAfterFinished", "activeDeadlineSeconds"],
  VideoJob: ["suspend", "ttlSecondsAfterFinished", "activeDeadlineSeconds"],
};
const IMMUTABLE: Record<string, readonly string[]> = {
  GpuEndpoint: ["accountRef", "appName", "products", "rootfsSizeGB", "adoption"],
};

/** An update as far as the rules of the CRD let it through. */
export function changeable(kind: string, stored: Json, update: Json): Json {
  const isFixed = (field: string) =>
    CHANGEABLE[kind]?.includes(field) === false || IMMUTABLE[kind]?.includes(field) === true;
  const fixed = Object.fromEntries(Object.entries(stored).filter(([field]) => isFixed(field)));
  const changed = Object.fromEntries(Object.entries(update).filter(([field]) => !isFixed(field)));
  return { ...fixed, ...changed };
}
