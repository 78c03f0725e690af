import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";

/** The keywords of a CRD's schema that values are generated from. */
export type Schema = {
  type: "object" | "array" | "string" | "integer" | "number" | "boolean";
  properties?: Record<string, Schema> | undefined;
  additionalProperties?: Schema | undefined;
  items?: Schema | undefined;
  required?: string[] | undefined;
  enum?: unknown[] | undefined;
  minimum?: number | undefined;
  maximum?: number | undefined;
  minLength?: number | undefined;
  maxLength?: number | undefined;
  minItems?: number | undefined;
  maxItems?: number | undefined;
  format?: string | undefined;
};

const schemaOfField: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    type: z.enum(["object", "array", "string", "integer", "number", "boolean"]),
    properties: z.record(z.string(), schemaOfField).optional(),
    additionalProperties: schemaOfField.optional(),
    items: schemaOfField.optional(),
    required: z.array(z.string()).optional(),
    enum: z.array(z.unknown()).optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    minLength: z.number().optional(),
    maxLength: z.number().optional(),
    minItems: z.number().optional(),
    maxItems: z.number().optional(),
    format: z.string().optional(),
  }),
);

const crd = z.object({
  spec: z.object({
    versions: z.tuple([
      z.object({ schema: z.object({ openAPIV3Schema: z.object({ properties: z.object({ spec: schemaOfField }) }) }) }),
    ]),
  }),
});

/** The schema of `spec` in crds/, the file that the API server gets. */
export function specSchemaOf(kind: string): Schema {
  const plural = KINDS.find(({ resource }) => resource.kind === kind)?.resource.plural;
  if (plural === undefined) throw new Error(`there is no kind ${kind}`);
  const file = join(import.meta.dirname, `../../../crds/mooring.dev_${plural}.yaml`);
  const [version] = crd.parse(parse(readFileSync(file, "utf8"))).spec.versions;
  return version.schema.openAPIV3Schema.properties.spec;
}

/** A field whose value is not an object. `path`: `env[].valueFrom.secretKeyRef.name`, `paths.*`. */
export type Field = { path: string; schema: Schema; isRequired: boolean };

/** Every field below a schema; of a list of objects, the fields of its elements and the list. */
export function fieldsOf(schema: Schema, path = "", isRequired = true): Field[] {
  const { properties, items, additionalProperties, required = [] } = schema;
  if (items !== undefined) {
    const self = { path, schema, isRequired };
    return items.type === "object" ? [self, ...fieldsOf(items, `${path}[]`)] : [self];
  }
  if (additionalProperties !== undefined) return fieldsOf(additionalProperties, `${path}.*`, false);
  if (properties === undefined) return [{ path, schema, isRequired }];
  return Object.entries(properties).flatMap(([name, one]) =>
    fieldsOf(one, path === "" ? name : `${path}.${name}`, required.includes(name)),
  );
}
