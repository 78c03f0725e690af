import fc from "fast-check";
import { isJson, type Json, type JsonValue, parseJson } from "../sim/api-server/json.ts";
import type { Response } from "../sim/network/exchange.ts";

/** A change of one place of a response. */
export type Change =
  | { kind: "Replace"; value: JsonValue }
  /** A number as it is written in JSON: JavaScript cannot write each of them. */
  | { kind: "Number"; text: string }
  | { kind: "Drop" }
  | { kind: "Repeat"; count: number }
  | { kind: "Nest"; depth: number }
  | { kind: "Rename"; name: string }
  | { kind: "Add"; name: string; value: JsonValue }
  /** Quotes the API key of the request. */
  | { kind: "QuoteKey" };

/** `place`: which of the places of the body, modulo their number. */
export type Edit = { place: number; change: Change };

/** How the body arrives. `Own`: as the service sends it. */
export const FRAMINGS = ["Own", "Cut", "Page", "Text", "Empty", "List", "Null"] as const;

/** What becomes of the response that the service would have sent. */
export type Disturbance = {
  /** Undefined: as the service sends it. */
  status: number | undefined;
  framing: (typeof FRAMINGS)[number];
  retryAfter: string | undefined;
  edits: Edit[];
};

const TEXTS = [
  "",
  " ",
  "running",
  "TASK_STATUS_SUCCEED",
  "12",
  "-1",
  "1e300",
  "true",
  "null",
  "\u0007\u202e",
  "\ud800",
];
const NUMBERS = [
  "1e400",
  "-1e400",
  "-0",
  "1.5",
  "99999999999999999999",
  "9007199254740993",
  "-1",
  "2147483648",
  "1e-400",
];
const NAMES = ["__proto__", "constructor", "toString", "data", "id", "task", "error", "code", "reason", "message", ""];
const STATUSES = [
  200, 201, 202, 204, 206, 299, 301, 302, 303, 304, 307, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 415,
];
const FAILURES = [418, 422, 423, 425, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 511, 520, 524, 599, 600, 999];

const text = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(300, 5_000, 70_000).map((length) => "x".repeat(length)),
  fc.constantFrom("😀", "\u202e").map((unit) => unit.repeat(5_000)),
);
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 2, arbitrary: fc.oneof(fc.integer(), fc.constantFrom(1e300, -1e300, 0.5, 2 ** 53, 0)) },
  fc.constantFrom(null, true, false),
  fc.jsonValue({ maxDepth: 2 }).map((one) => parseJson(JSON.stringify(one))),
);

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("Replace" as const), value }) },
  fc.record({ kind: fc.constant("Number" as const), text: fc.constantFrom(...NUMBERS) }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("Drop" as const) }) },
  fc.record({ kind: fc.constant("Repeat" as const), count: fc.constantFrom(0, 2, 65, 1_001, 2_001) }),
  fc.record({ kind: fc.constant("Nest" as const), depth: fc.constantFrom(1, 5, 2_000) }),
  fc.record({ kind: fc.constant("Rename" as const), name: fc.constantFrom(...NAMES) }),
  fc.record({ kind: fc.constant("Add" as const), name: fc.constantFrom(...NAMES), value }),
  fc.record({ kind: fc.constant("QuoteKey" as const) }),
);

export const disturbance: fc.Arbitrary<Disturbance> = fc.record({
  status: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: fc.constantFrom(...STATUSES, ...FAILURES) },
  ),
  framing: fc.oneof(
    { weight: 12, arbitrary: fc.constant("Own" as const) },
    { weight: 5, arbitrary: fc.constantFrom(...FRAMINGS) },
  ),
  retryAfter: fc.option(fc.constantFrom("1", "0", "-1", "1e9", "Fri, 31 Dec 9999 23:59:59 GMT", "soon"), {
    nil: undefined,
    freq: 8,
  }),
  edits: fc.array(fc.record({ place: fc.nat(), change }), { maxLength: 4 }),
});

/** The response as it arrives. `cut`: its end is missing. `authorization`: of the request. */
export function disturbed(
  own: { status: number; body: unknown },
  { status = own.status, framing, retryAfter, edits }: Disturbance,
  authorization: string,
): Response & { cut: boolean } {
  const isPage = framing === "Page" || framing === "Text";
  const headers: Record<string, string> = { "content-type": isPage ? "text/html" : "application/json" };
  if (retryAfter !== undefined) headers["retry-after"] = retryAfter;
  return { status, headers, text: bodyOf(own.body, framing, edits, authorization), cut: framing === "Cut" };
}

function bodyOf(body: unknown, framing: Disturbance["framing"], edits: readonly Edit[], authorization: string): string {
  switch (framing) {
    case "Page":
      return `<html><body>502 Bad Gateway ${authorization}</body></html>`;
    case "Text":
      return `upstream error: ${authorization}`;
    case "Empty":
      return "";
    case "List":
      return "[1]";
    case "Null":
      return "null";
    default:
      return edits.reduce((before, edit) => edited(before, edit, authorization), textOf(body));
  }
}

/** Repetitions of repetitions would take all memory; large bodies are the subject of test/security/cluster. */
const LARGEST_EDITED = 256 * 1024;

const textOf = (body: unknown) => (typeof body === "string" ? body : (JSON.stringify(body) ?? ""));

/** Edits a JSON body, or one of the lines of a stream. */
function edited(body: string, edit: Edit, authorization: string): string {
  if (body.length > LARGEST_EDITED) return body;
  const lines = body.split("\n");
  const index = edit.place % lines.length;
  const line = lines[index] ?? "";
  const start = line.indexOf("{");
  if (start < 0) return body;
  try {
    const changed = changedJson(parseJson(line.slice(start)), edit, authorization);
    return lines.with(index, line.slice(0, start) + changed).join("\n");
  } catch {
    return body; // an edit before has left no JSON
  }
}

type Place = { parent: Json | JsonValue[]; key: string };

function placesOf(value: JsonValue): Place[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [{ parent: value, key }, ...placesOf(child)]);
}

const RAW = "raw-number:";

function changedJson(root: JsonValue, { place, change }: Edit, authorization: string): string {
  const places = placesOf(root);
  const found = places[place % Math.max(1, places.length)];
  if (found !== undefined) changeAt(found, change, authorization);
  return JSON.stringify(root).replaceAll(new RegExp(`"${RAW}([^"]*)"`, "g"), "$1");
}

function changeAt({ parent, key }: Place, change: Change, authorization: string): void {
  const old = Reflect.get(parent, key) as JsonValue;
  const set = (name: string, one: JsonValue) =>
    void Object.defineProperty(parent, name, { value: one, enumerable: true, configurable: true, writable: true });
  switch (change.kind) {
    case "Replace":
      set(key, change.value);
      break;
    case "Number":
      set(key, `${RAW}${change.text}`);
      break;
    case "QuoteKey":
      set(key, typeof old === "string" ? `${old} ${authorization}` : authorization);
      break;
    case "Drop":
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete parent[key];
      break;
    case "Repeat":
      set(key, Array.isArray(old) ? repeated(old, change.count) : Array.from({ length: change.count }, () => old));
      break;
    case "Nest":
      set(key, nested(old, change.depth));
      break;
    case "Rename":
      if (isJson(parent)) delete parent[key];
      set(change.name, old);
      break;
    case "Add":
      set(change.name, change.value);
      break;
  }
}

function repeated(list: readonly JsonValue[], count: number): JsonValue[] {
  return Array.from({ length: count }, (_, i) => list[i % Math.max(1, list.length)] ?? null);
}

function nested(inner: JsonValue, depth: number): JsonValue {
  let result = inner;
  for (let i = 0; i < depth; i++) result = i % 2 === 0 ? [result] : { data: result };
  return result;
}
