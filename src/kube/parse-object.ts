/** How an API server begins the managed fields of an object, and how it goes on after them: fields by name, without spaces. */
const MANAGED_FIELDS = Buffer.from(',"managedFields":[{');
const AFTER_THEM = Buffer.from('}],"name":"');
const SPEC = Buffer.from('"spec":');

/**
 * Parses an object of a custom kind, or a watch event of one, without `metadata.managedFields`. Nothing reads them, and they are often longer
 * than the rest. No entry contains a list, and JSON escapes the quotes in a text, so the first end that is found is theirs. A text of another
 * form is parsed whole. It changes `bytes`, so that only what is parsed becomes a text.
 */
export function parseObject<T>(bytes: Buffer): T {
  const begin = bytes.indexOf(MANAGED_FIELDS);
  const end = begin < 0 ? -1 : bytes.indexOf(AFTER_THEM, begin);
  // In the spec, the same words could be fields of the kind.
  if (end < 0 || bytes.subarray(0, end).includes(SPEC)) return JSON.parse(bytes.toString());
  const from = end + 2;
  bytes.copyWithin(begin, from);
  return JSON.parse(bytes.toString("utf8", 0, begin + bytes.length - from));
}
