import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { z } from "zod";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { isJson, type Json, type JsonValue, objectAt } from "./json.ts";
import { type Schema, schema } from "./schema.ts";

const validations = z.array(z.object({ rule: z.string(), message: z.string().optional() })).optional();
const definition = z.object({
  spec: z.object({
    names: z.object({ kind: z.string() }),
    versions: z.tuple([
      z.object({
        schema: z.object({
          openAPIV3Schema: z.object({
            "x-kubernetes-validations": validations,
            properties: z.object({
              spec: z.object({ "x-kubernetes-validations": validations, properties: z.record(z.string(), schema) }),
            }),
          }),
        }),
      }),
    ]),
  }),
});

/** A field of the spec that must stay as it is. `onceBound`: only when the status names an endpoint. */
type Immutable = { field: string; message: string; onceBound: boolean; rules: Schema | undefined };

/** `self.a == oldSelf.a`, also where the field may be absent, and also at the root of the object. */
const UNCHANGED = /self\.(?:spec\.)?(\w+) == oldSelf\.(?:spec\.)?\1\)*$/;
const CRDS = join(import.meta.dirname, "../../../crds");

const IMMUTABLE = new Map(
  readdirSync(CRDS)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => {
      const { names, versions } = definition.parse(parse(readFileSync(join(CRDS, name), "utf8"))).spec;
      const { openAPIV3Schema: root } = versions[0].schema;
      const all = [root, root.properties.spec].flatMap((one) => one["x-kubernetes-validations"] ?? []);
      const fields = all.flatMap(({ rule, message = "is immutable" }): Immutable[] => {
        const field = UNCHANGED.exec(rule)?.[1];
        const onceBound = rule.includes("oldSelf.status.endpointID");
        const { properties } = root.properties.spec;
        return field === undefined ? [] : [{ field, message, onceBound, rules: properties[field] }];
      });
      return [names.kind, fields] as const;
    }),
);

/** What rules see of a value: not the fields that an object keeps without declaring them. */
function visible(value: JsonValue | undefined, rules: Schema | undefined): unknown {
  if (Array.isArray(value)) return value.map((one) => visible(one, rules?.items));
  if (!isJson(value)) return value;
  const { properties } = rules ?? {};
  if (properties === undefined) return rules?.["x-kubernetes-preserve-unknown-fields"] === true ? {} : value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, visible(one, properties[key])]));
}

/**
 * What stands for the CEL rules of the CRDs, which the API server in memory does not evaluate: the operator's own schema, and the rules
 * about fields that do not change. test/integration/admitted-values.test.ts compares it with a real API server.
 */
export function ruleProblems(kind: string, after: Json, before: Json | undefined): string[] {
  const row = KINDS.find(({ resource }) => resource.kind === kind);
  if (row === undefined) return [];
  const [spec, old] = [objectAt(after, "spec"), objectAt(before, "spec")];
  const isBound = objectAt(before, "status")["endpointID"] !== undefined;
  const changed = (before === undefined ? [] : (IMMUTABLE.get(kind) ?? [])).filter(
    ({ field, onceBound, rules }) =>
      (!onceBound || isBound) && !isDeepStrictEqual(visible(spec[field], rules), visible(old[field], rules)),
  );
  const parsed = row.spec.safeParse(spec);
  const broken = parsed.error?.issues.map(({ path, message }) => `spec.${path.join(".")}: ${message}`) ?? [];
  return [...changed.map(({ message }) => message), ...broken];
}
