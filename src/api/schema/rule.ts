import type * as z from "zod";

/**
 * What the API server calls an `x-kubernetes-validations` entry, written once for both readers: `cel` for the API server, `holds` for
 * zod (the operator, `mooring validate`). The tests hold the two together.
 */
export type SpecRule<T> = {
  /** A CEL expression over `self` that is true when the value is good. */
  cel: string;
  /** One line: the field, what is allowed, what to do. */
  message: string;
  /** Relative to the schema that carries the rule, as JSONPath: `.workers.min`. */
  fieldPath?: string;
  holds: (value: T) => boolean;
};

/** A rule that compares with the stored object (`oldSelf`), so only the API server can apply it. */
export type TransitionRule = Omit<SpecRule<never>, "holds">;

export type CelRule = { rule: string; message: string; fieldPath?: string };

/** Attaches rules to a schema: zod checks `holds`, the CRD carries `cel`. */
export function ruled<S extends z.ZodType>(
  schema: S,
  rules: readonly SpecRule<z.output<S>>[],
  transitions: readonly TransitionRule[] = [],
): S {
  return schema
    .superRefine((value, context) => {
      for (const rule of rules) {
        if (!rule.holds(value)) {
          context.addIssue({ code: "custom", message: rule.message, path: pathOf(rule.fieldPath) });
        }
      }
    })
    .meta({ "x-kubernetes-validations": [...rules, ...transitions].map(celRule) });
}

export function celRule({ cel, message, fieldPath }: TransitionRule): CelRule {
  return fieldPath === undefined ? { rule: cel, message } : { rule: cel, message, fieldPath };
}

/**
 * One rule per field, so that the refusal names the field. `fields` maps each name to whether it can be absent. `why` ends the
 * message and says what to do instead.
 */
export function immutable(
  fields: Readonly<Record<string, "required" | "optional">>,
  prefix: string,
  why: string,
): TransitionRule[] {
  return Object.entries(fields).map(([field, presence]) => ({
    cel: presence === "required" ? `self.${field} == oldSelf.${field}` : unchanged("self", "oldSelf", field),
    message: `${prefix}${field} cannot be changed, added or removed after creation: ${why}`,
    fieldPath: `.${field}`,
  }));
}

/** CEL: an optional field is the same in both, absence included. */
export function unchanged(self: string, old: string, field: string): string {
  return `has(${self}.${field}) == has(${old}.${field}) && (!has(${self}.${field}) || ${self}.${field} == ${old}.${field})`;
}

function pathOf(fieldPath: string | undefined): string[] {
  return fieldPath === undefined ? [] : fieldPath.split(".").slice(1);
}
