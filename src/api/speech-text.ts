/** Text that is spoken: its length and its pause markers (interface: Speech synthesis). */

/** Characters of the synchronous model: the text must be shorter. */
export const TURBO_TEXT_LIMIT = 10_000;

/** Characters the schema lets through; an account's `speech.maxCharacters` (50,000 unless set) is checked before sending. */
export const SCHEMA_TEXT_LIMIT = 1_000_000;

/** One pause marker: 0.01 to 99.99 seconds with at most two decimals. */
const marker = "<#(0[.]0[1-9]|0[.][1-9][0-9]?|[1-9][0-9]?([.][0-9]{1,2})?)#>";

/** RE2: every `<#` of the text starts a well-formed marker. */
export const MARKERS_WELL_FORMED = `^([^<]|<+([^<#]|$)|<*${marker})*$`;

/** RE2: two markers with nothing to speak between them. */
export const MARKERS_IN_A_ROW = "#>[ \\t\\r\\n]*<#";

export const messages = {
  malformed:
    "text has a malformed pause marker: write <#x#> with x in seconds from 0.01 to 99.99, at most two decimals, such as <#0.5#>",
  inARow: "text has two pause markers in a row: put words between them, or add them up into one",
};

const markerHere = new RegExp(marker, "uy");
const inARow = new RegExp(MARKERS_IN_A_ROW, "u");

/**
 * What is wrong with the pause markers of a text, undefined when nothing is. The same rules as the CRD's, for text that
 * the API server has not seen (`textFrom`); linear in the length.
 */
export function pauseMarkerProblem(text: string): string | undefined {
  return markersWellFormed(text) ? (markersApart(text) ? undefined : messages.inARow) : messages.malformed;
}

export function markersWellFormed(text: string): boolean {
  for (let at = text.indexOf("<#"); at !== -1; at = text.indexOf("<#", at + 2)) {
    markerHere.lastIndex = at;
    if (!markerHere.test(text)) return false;
  }
  return true;
}

export function markersApart(text: string): boolean {
  return !inARow.test(text);
}

/** Length as the API server and the service count it: code points, not UTF-16 units. */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
