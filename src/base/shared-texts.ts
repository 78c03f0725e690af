import { isObject } from "./own-value.ts";

/** `JSON.parse` itself gives equal texts of up to ten characters one place. */
const SHORTEST = 11;
/** A longer text is rarely found twice. */
const LONGEST = 128;
/** Texts that are remembered; at times, twice as many. */
export const MOST = 512;

/**
 * Gives equal texts of many objects one place in memory. `JSON.parse` makes a new text for each: of an endpoint's words, names, times and
 * messages, most are those of the object before it, or the same several times. Remembers the texts of the last objects.
 */
export function createSharedTexts() {
  let recent = new Map<string, string>();
  let earlier = new Map<string, string>();

  function sharedText(text: string): string {
    const known = recent.get(text);
    if (known !== undefined) return known;
    if (recent.size >= MOST) {
      earlier = recent;
      recent = new Map();
    }
    const shared = earlier.get(text) ?? text;
    recent.set(shared, shared);
    return shared;
  }

  /** Replaces the texts in a value of JSON, in place. `done`: a part of it whose texts were replaced before. */
  function share(value: unknown, done?: unknown): void {
    if (!isObject(value) || value === done) return;
    for (const name of Object.keys(value)) {
      const field = value[name];
      if (typeof field !== "string") share(field, done);
      else if (field.length >= SHORTEST && field.length <= LONGEST) value[name] = sharedText(field);
    }
  }

  return { share, size: () => recent.size + earlier.size };
}
