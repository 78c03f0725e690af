import fc from "fast-check";
import { isJson, type Json, type JsonValue } from "../../sim/api-server/json.ts";
import type { Schema } from "../../sim/transitions/schema.ts";
import { candidatesOf } from "../../sim/transitions/values.ts";
import { jsonOf, type Place, pathOf, placesOf, setIn, spotOf, typicalOf } from "./places.ts";
import { TEXTS, WORDS } from "./texts.ts";

/** A change of one place of a spec. */
export type Change =
  /** A valid, boundary or invalid value by the schema and by the rules of the field: which of them, modulo their number. */
  | { kind: "Candidate"; which: number }
  | { kind: "Value"; value: JsonValue }
  /** A value of the type that the schema wants, within its ranges. The rules of the field may refuse it. */
  | { kind: "Typed"; text: string; number: number }
  /** A part that the spec lacks, as its schema needs it. */
  | { kind: "Fill" }
  | { kind: "Drop" }
  /** Items of a list; of another value, a list of it. */
  | { kind: "Repeat"; count: number }
  /** A field that no schema has, or a key of a map. */
  | { kind: "Add"; name: string; value: JsonValue };

/** `place`: which of the places of the schema, modulo their number. `item`: which item of the lists on the way. */
export type Edit = { place: number; item: number; change: Change };

const text = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 40 }).map((one) => one.toWellFormed()) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom(64, 255, 256, 512, 1_024, 2_048, 4_096, 10_000),
        fc.constantFrom("x", "😀", "\u202e", "a "),
      )
      .map(([length, unit]) => unit.repeat(length)),
  },
);

const number = fc.oneof(
  fc.integer({ min: -2, max: 100 }),
  fc.constantFrom(0, -1, 0.5, 1e-9, 1e300, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 53, 1_000, 1_001, 3_661),
);

const value: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 6, arbitrary: text },
  { weight: 3, arbitrary: number },
  fc.constantFrom<JsonValue>(null, true, false, [], {}),
  fc.jsonValue({ maxDepth: 2 }).map((one) => jsonOf(JSON.parse(JSON.stringify(one).toWellFormed()))),
);

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("Candidate" as const), which: fc.nat(40) }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant("Typed" as const), text, number }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("Value" as const), value }) },
  { weight: 3, arbitrary: fc.constant({ kind: "Fill" as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: "Drop" as const }) },
  fc.record({ kind: fc.constant("Repeat" as const), count: fc.constantFrom(0, 2, 4, 17, 65, 300) }),
  fc.record({ kind: fc.constant("Add" as const), name: fc.constantFrom(...WORDS), value }),
);

export const edit: fc.Arbitrary<Edit> = fc.record({ place: fc.nat(400), item: fc.nat(3), change });

/** A copy of a spec with the edits, one after the other. */
export function edited(kind: string, root: Schema, spec: Json, edits: readonly Edit[]): Json {
  const copy = structuredClone(spec);
  const places = placesOf(root);
  for (const one of edits) apply(kind, root, copy, { ...one, place: places[one.place % places.length] });
  return copy;
}

type Placed = Omit<Edit, "place"> & { place: Place | undefined };

function apply(kind: string, root: Schema, spec: Json, { place, item, change: what }: Placed): void {
  const spot = place && spotOf(spec, root, place, item);
  if (place === undefined || spot === undefined) return;
  switch (what.kind) {
    case "Candidate": {
      const field = { path: pathOf(place), schema: place.schema, isRequired: place.isRequired };
      const candidates = candidatesOf(kind, field, spec);
      const chosen = candidates[what.which % candidates.length];
      setIn(spot, chosen?.value === undefined ? undefined : jsonOf(chosen.value));
      break;
    }
    case "Value":
      setIn(spot, structuredClone(what.value));
      break;
    case "Typed":
      setIn(spot, typed(place.schema, what, spot.value));
      break;
    case "Fill":
      if (spot.value === undefined) setIn(spot, typicalOf(place.schema));
      break;
    case "Drop":
      setIn(spot, undefined);
      break;
    case "Repeat": {
      const items = Array.isArray(spot.value) ? spot.value : [spot.value ?? typicalOf(place.schema)];
      setIn(spot, repeated(items, what.count));
      break;
    }
    case "Add":
      if (isJson(spot.value)) setIn({ parent: spot.value, key: what.name }, structuredClone(what.value));
      else if (!Array.isArray(spot.parent)) setIn({ parent: spot.parent, key: what.name }, structuredClone(what.value));
      break;
  }
}

function typed(
  schema: Schema,
  { text, number }: Extract<Change, { kind: "Typed" }>,
  present: JsonValue | undefined,
): JsonValue {
  const { type, minimum = -(2 ** 31), maximum = 2 ** 31 - 1, maxLength = 10_000 } = schema;
  const words = schema.enum;
  if (words !== undefined) return jsonOf(words[text.length % words.length]);
  switch (type) {
    case "string":
      return [...text].slice(0, maxLength).join("");
    case "integer":
      return Math.trunc(Math.min(maximum, Math.max(minimum, number)));
    case "number":
      return Math.min(maximum, Math.max(minimum, number));
    case "boolean":
      return present !== true;
    case "array":
    case "object":
      return present ?? typicalOf(schema);
  }
}

function repeated(items: readonly JsonValue[], count: number): JsonValue[] {
  return Array.from({ length: count }, (_, i) => structuredClone(items[i % Math.max(1, items.length)] ?? "a"));
}
