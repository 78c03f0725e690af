import type { Change, Disturbance } from "./answers.ts";
import { CALLS } from "./calls.ts";
import type { Case } from "./responses.ts";
import { GENERATIONS } from "./target.ts";

const OWN: Disturbance = { status: undefined, framing: "Own", retryAfter: undefined, edits: [] };

/** Responses that once led to a defect, or that are the reason for a rule. Each is checked with every call. */
const FINDINGS: readonly (Partial<Disturbance> & { finding: string; change?: Change })[] = [
  { finding: "a redirect can follow a POST that took effect", status: 303, framing: "Page" },
  { finding: "a proxy's 413 proves nothing", status: 413, framing: "Page" },
  { finding: "a firewall's 403 can follow the effect", status: 403, framing: "Text" },
  { finding: "408 of the service's own", status: 408 },
  { finding: "499 of the service's own", status: 499 },
  { finding: "a list instead of an object", framing: "List" },
  { finding: "null instead of an object", framing: "Null" },
  { finding: "a 400 that is cut off", status: 400, framing: "Cut" },
  { finding: "an empty 404", status: 404, framing: "Empty" },
  { finding: "a pause of 31 years", status: 429, retryAfter: "1e9" },
  { finding: "a pause until 9999", status: 429, retryAfter: "Fri, 31 Dec 9999 23:59:59 GMT" },
  { finding: "an identifier of 5,000 characters", change: { kind: "Replace", value: "t".repeat(5_000) } },
  { finding: "an identifier with control characters", change: { kind: "Replace", value: "t\u0007\u202e" } },
  { finding: "a text that quotes the API key", change: { kind: "QuoteKey" } },
  { finding: "a refusal that quotes the API key", status: 400, change: { kind: "QuoteKey" } },
  { finding: "a number beyond all numbers", change: { kind: "Number", text: "1e400" } },
  { finding: "2,000 levels", change: { kind: "Nest", depth: 2_000 } },
  { finding: "more elements than a list may have", change: { kind: "Repeat", count: 2_001 } },
  { finding: "a name of every object", change: { kind: "Rename", name: "__proto__" } },
];

/** Places of a body that hold what the calls read. */
const PLACES = [0, 2, 5];

export const CORPUS: readonly { finding: string; one: Case }[] = FINDINGS.flatMap(({ finding, change, ...given }) => {
  const edits = change === undefined ? [[]] : PLACES.map((place) => [{ place, change }]);
  return CALLS.flatMap(({ name }) =>
    GENERATIONS.flatMap((generation) =>
      edits.map((one) => ({ finding, one: { call: name, generation, disturbance: { ...OWN, ...given, edits: one } } })),
    ),
  );
});
