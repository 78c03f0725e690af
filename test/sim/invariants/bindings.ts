import { objectAt, textAt } from "../api-server/json.ts";
import { serialOf } from "../scenario/manifests.ts";
import type { World } from "../scenario/world.ts";

/** An object without `accountRef` stays with the account that its status names first. */
export function watchBindings({ storage, judge }: Pick<World, "storage" | "judge">): void {
  const bound = new Map<string, string>();
  storage.onEvent((id, { object, type }) => {
    if (!/^(gpuendpoints|speechjobs|videojobs)\./.test(id) || "accountRef" in objectAt(object, "spec")) return;
    const uid = textAt(object["metadata"], "uid") ?? "";
    const { account } = objectAt(object, "status");
    if (type === "DELETED" || account === undefined) return;
    const name = `${textAt(account, "kind")} ${textAt(account, "name")}`;
    const before = bound.get(uid) ?? name;
    if (before !== name) judge.violated("StaysBound", `object ${serialOf(object)} went from ${before} to ${name}`);
    bound.set(uid, before);
  });
}
