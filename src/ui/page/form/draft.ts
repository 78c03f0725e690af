/** Keys from the root of a manifest: names of fields, and places in lists. */
export type Path = readonly (string | number)[];

/** A value of a manifest while it is written. */
export type Draft = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function valueAt(draft: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return draft;
  if (Array.isArray(draft)) return valueAt(draft[Number(key)], rest);
  return isRecord(draft) && Object.hasOwn(draft, key) ? valueAt(draft[key], rest) : undefined;
}

/** The draft with another value; undefined removes it, and with it the objects around it that become empty. */
export function withValue(draft: Draft, path: Path, value: unknown): Draft {
  const changed = changedAt(draft, path, value);
  return isRecord(changed) ? changed : {};
}

function changedAt(draft: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list = Array.isArray(draft) ? [...draft] : [];
    const item = changedAt(list[key], rest, value);
    if (item === undefined) list.splice(key, 1);
    else list[key] = item;
    return list.length === 0 ? undefined : list;
  }
  const { [key]: former, ...others } = isRecord(draft) ? draft : {};
  const field = changedAt(former, rest, value);
  const next = isRecord(draft) && Object.hasOwn(draft, key) ? { ...draft } : { ...others };
  if (field === undefined) delete next[key];
  else next[key] = field;
  return Object.keys(next).length === 0 ? undefined : next;
}

/** As in the choices and the problems of the server, without the places in lists. */
export function fieldPath(path: Path): string {
  return path.filter((part) => typeof part === "string").join(".");
}
