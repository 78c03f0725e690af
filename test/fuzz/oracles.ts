import { ServiceError } from "../../src/provider/errors.ts";
import { API_KEY, type Execution } from "./target.ts";

/** Most characters of a text of the service, and of an error's message. */
const LONGEST_TEXT = 2 * 1024 * 1024;
const LONGEST_MESSAGE = 1_000;
/** Most elements of a list that the provider hands on: the bills of a range, which have no pages. */
const MOST_ELEMENTS = 50_000;
const DEEPEST = 12;
/** Pages of a list that the service never ends. */
const MOST_REQUESTS = 1_100;

/** What is wrong with how a call ended; empty when nothing is. */
export function problemsOf({ call, end, responses }: Execution): string[] {
  const problems: string[] = [];
  const most = call.once ? 1 : MOST_REQUESTS;
  if (responses.length > most) problems.push(`${responses.length} requests were sent, expected ${most} at most`);
  if ("value" in end) return [...problems, ...boundsOf(end.value, "value", 0)];

  const { error } = end;
  if (!(error instanceof ServiceError)) return [...problems, `is no ServiceError: ${String(error)}`];
  const { message, reason = "", code = "", retryAfterMs = 0, delivery } = error;
  const texts = [message, reason, code];
  for (const text of texts) {
    if (text.length > LONGEST_MESSAGE) problems.push(`a text of the error has ${text.length} characters`);
    if (/[\p{Cc}\p{Cf}\p{Cs}]/u.test(text)) problems.push(`a text of the error has control characters`);
    if (text.includes(API_KEY)) problems.push(`the error quotes the API key: ${text}`);
    if (text.includes("hidden-value")) problems.push(`the error quotes a hidden value: ${text}`);
  }
  if (!(retryAfterMs >= 0 && retryAfterMs <= 3_600_000)) problems.push(`retryAfterMs is ${retryAfterMs}`);
  const last = responses.at(-1);
  if (delivery === "NotSent" && call.once && last !== undefined) problems.push("NotSent, but a request was sent");
  if (delivery === "Refused" && (last === undefined || !provesRefusal(last))) {
    problems.push(`Refused by ${last?.status}: ${last?.text.slice(0, 80)}`);
  }
  return problems;
}

/** A 4xx in the service's own format; a timeout proves nothing. By their RFCs, 401 and 429 prove it in any format. */
function provesRefusal({ status, text, cut }: Execution["responses"][number]): boolean {
  if (status < 400 || status > 499 || status === 408 || status === 499) return false;
  if (status === 401 || status === 429) return true;
  if (cut) return false;
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && !Array.isArray(body);
  } catch {
    return false;
  }
}

/** Values that no status can store: they are too large, too deep, or no number. */
function boundsOf(value: unknown, path: string, depth: number): string[] {
  if (typeof value === "string") return value.length > LONGEST_TEXT ? [`${path} has ${value.length} characters`] : [];
  if (typeof value === "number") return Number.isFinite(value) ? [] : [`${path} is ${value}`];
  if (typeof value === "bigint")
    return BigInt.asIntN(64, value) === value || value === 2n ** 63n ? [] : [`${path} is ${value}`];
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  if (depth > DEEPEST) return [`${path} is too deep`];
  if (Array.isArray(value) && value.length > MOST_ELEMENTS) return [`${path} has ${value.length} elements`];
  const shown = Object.entries(value).slice(0, 200);
  return shown.flatMap(([key, child]) => boundsOf(child, `${path}.${key}`, depth + 1)).slice(0, 3);
}
