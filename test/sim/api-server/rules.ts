import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { z } from "zod";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { type Json, objectAt } from "./json.ts";

const validations = z.array(z.object({ rule: z.string(), message: z.string().optional() })).optional();
const definition = z.object({
  spec: z.object({
    names: z.object({ kind: z.string() }),
    versions: z.tuple([
      z.object({
        schema: z.object({
          openAPIV3Schema: z.object({
            "x-kubernetes-validations": validations,
            properties: z.object({ spec: z.object({ "x-kubernetes-validations": validations }) }),
          }),
        }),
      }),
    ]),
  }),
});

/** A field of the spec that must stay as it is. `onceBound`: only when the status names an endpoint. */
type Immutable = { field: string; message: string; onceBound: boolean };

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
        return field === undefined ? [] : [{ field, message, onceBound: rule.includes("oldSelf.status.endpointID") }];
      });
      return [names.kind, fields] as const;
    }),
);

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
    ({ field, onceBound }) => (!onceBound || isBound) && !isDeepStrictEqual(spec[field], old[field]),
  );
  const parsed = row.spec.safeParse(spec);
  const broken = parsed.error?.issues.map(({ path, message }) => `spec.${path.join(".")}: ${message}`) ?? [];
  return [...changed.map(({ message }) => message), ...broken];
}
