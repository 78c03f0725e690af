/** Text that is spoken: its length and its pause markers (interface: Speech synthesis). */

/** Characters of the synchronous model: the text must be shorter. */
export const TURBO_TEXT_LIMIT = 10_000;

/** Characters that the schema allows; an account's `speech.maxCharacters` (50,000 unless set) is checked before sending. */
export const SCHEMA_TEXT_LIMIT = 1_000_000;

/**
 * Characters up to which the API server looks at pause markers: a regular expression over more exceeds its budget for one CEL call
 * (about 400,000; tried on 1.36). Longer texts are checked before sending, as is all that comes by textFrom.
 */
export const CEL_MARKER_LIMIT = 200_000;

/** One pause marker: 0.01 to 99.99 seconds with at most two decimals. */
const marker = "<#(0[.]0[1-9]|0[.][1-9][0-9]?|[1-9][0-9]?([.][0-9]{1,2})?)#>";

/** RE2: every `<#` of the text starts a well-formed marker. */
export const MARKERS_WELL_FORMED = `^([^<]|<+([^<#]|$)|<*${marker})*$`;

/** RE2: two markers with nothing to speak between them. */
const IN_A_ROW = "#>[ \\t\\r\\n]*<#";

/** RE2: a marker before or after all that is spoken. */
const AT_THE_EDGE = "^[ \\t\\r\\n]*<#|#>[ \\t\\r\\n]*$";

const markerHere = new RegExp(marker, "uy");
const inARow = new RegExp(IN_A_ROW, "u");
const atTheEdge = new RegExp(AT_THE_EDGE, "u");

/** The rules of pause markers: `matches` is RE2 and has to match, or not; `holds` is the same in linear time here. */
export const markerRules = [
  {
    matches: MARKERS_WELL_FORMED,
    wanted: true,
    message:
      "text has a malformed pause marker: write <#x#> with x in seconds from 0.01 to 99.99, at most two decimals, such as <#0.5#>",
    holds: markersWellFormed,
  },
  {
    matches: IN_A_ROW,
    wanted: false,
    message: "text has two pause markers in a row: put words between them, or add them up into one",
    holds: (text: string) => !inARow.test(text),
  },
  {
    matches: AT_THE_EDGE,
    wanted: false,
    message:
      "text has a pause marker first or last: a pause stands between words, remove it or put words on both sides",
    holds: (text: string) => !atTheEdge.test(text),
  },
] as const;

/**
 * What is wrong with the pause markers of a text, undefined when nothing is. The same rules as the CRD's, for text that
 * the API server has not seen (`textFrom`, and what is longer than `CEL_MARKER_LIMIT`).
 */
export function pauseMarkerProblem(text: string): string | undefined {
  return markerRules.find(({ holds }) => !holds(text))?.message;
}

export function markersWellFormed(text: string): boolean {
  for (let at = text.indexOf("<#"); at !== -1; at = text.indexOf("<#", at + 2)) {
    markerHere.lastIndex = at;
    if (!markerHere.test(text)) return false;
  }
  return true;
}

/** Length as the API server and the service count it: code points, not UTF-16 units. */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
