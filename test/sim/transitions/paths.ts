/** The value at a path such as `env[].name`; `[]` and `*` stand for the first element. Undefined: there is none. */
export function valueAt(root: unknown, path: string): unknown {
  return stepsOf(path).reduce<unknown>((parent, step) => {
    if (typeof parent !== "object" || parent === null) return undefined;
    return step === "*" ? Object.values(parent)[0] : Reflect.get(parent, step);
  }, root);
}

/** A copy with another value at a path; undefined removes the field. The parents of the field must exist. */
export function withValue<T extends object>(root: T, path: string, value: unknown): T {
  const copy = structuredClone(root);
  const steps = stepsOf(path);
  const last = steps.pop() ?? "";
  const parent = steps.length === 0 ? copy : valueAt(copy, steps.join("."));
  if (typeof parent !== "object" || parent === null) throw new Error(`${path}: its parent does not exist`);
  const name = last === "*" ? (Object.keys(parent)[0] ?? "") : last;
  if (value === undefined) Reflect.deleteProperty(parent, name);
  else Reflect.set(parent, name, value);
  return copy;
}

/** Whether the parent of a field exists. */
export function hasParent(root: unknown, path: string): boolean {
  const parents = stepsOf(path).slice(0, -1);
  const parent = parents.length === 0 ? root : valueAt(root, parents.join("."));
  return typeof parent === "object" && parent !== null;
}

function stepsOf(path: string): string[] {
  return path.replaceAll("[]", ".0").split(".");
}
