/** How an API server begins the managed fields of an object, and how it goes on after them: fields by name, without spaces. */
const MANAGED_FIELDS = ',"managedFields":[{';
const AFTER_THEM = '}],"name":"';

/**
 * Parses an object of a custom kind, or a watch event of one, without `metadata.managedFields`. Nothing reads them, and they are often longer
 * than the rest. No entry contains a list, and JSON escapes the quotes in a text, so the first end that is found is theirs. A text of another
 * form is parsed whole.
 */
export function parseObject<T>(text: string): T {
  const begin = text.indexOf(MANAGED_FIELDS);
  const end = begin < 0 ? -1 : text.indexOf(AFTER_THEM, begin);
  // In the spec, the same words could be a field of the kind.
  const isMetadata = end >= 0 && !text.slice(0, begin).includes('"spec":');
  return JSON.parse(isMetadata ? text.slice(0, begin) + text.slice(end + 2) : text);
}
