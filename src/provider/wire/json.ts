/** A number of 16 digits or more: a double cannot hold each of them. In a string, it only costs time. */
const LONG_NUMBER = /[:[,\s]-?\d{16}/;
const INTEGER = /^-?\d+$/;

/**
 * Parses JSON without loss: an integer that a double cannot hold is the text of its digits, as the service spells it. The readers of
 * lenient.ts take both.
 * @throws SyntaxError
 */
export function parseJSON(text: string): unknown {
  return LONG_NUMBER.test(text) ? JSON.parse(text, exactly) : JSON.parse(text);
}

function exactly(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && INTEGER.test(source) ? source : value;
}
