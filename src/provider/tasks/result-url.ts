import type { Sanitizer } from "../../base/sanitizer.ts";
import { RESULT_URL } from "../wire/bounds.ts";

/** The URL of a result, as a status can store it. */
export type ResultURL = { kind: "Usable"; url: string } | { kind: "Unusable"; why: string };

/** Any other character is escaped, as each client does before it sends the URL. */
const PRINTABLE = /^[\x21-\x7e]*$/;

export function resultURL(text: string, sanitize: Sanitizer): ResultURL {
  if (text.length > RESULT_URL) {
    return { kind: "Unusable", why: `has ${text.length} characters, more than the ${RESULT_URL} that can be stored` };
  }
  const url = PRINTABLE.test(text) ? text : (URL.parse(text)?.href ?? "");
  if (url === "") return { kind: "Unusable", why: "is no URL" };
  if (url.length > RESULT_URL) return { kind: "Unusable", why: `is longer than ${RESULT_URL} characters` };
  return sanitize.quotesSecret(url) ? { kind: "Unusable", why: "quotes the API key" } : { kind: "Usable", url };
}
