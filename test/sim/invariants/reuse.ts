import { objectAt, textAt } from "../api-server/json.ts";
import { serialOf } from "../scenario/manifests.ts";
import type { World } from "../scenario/world.ts";

/**
 * A request whose results are reused is paid once (PaidOnce), whatever number of jobs sends it. It may be paid again for each job that
 * had sent it, or may have, and is gone or failed before the store had its results.
 */
export function watchReuse({ plan, storage, payments }: Pick<World, "plan" | "storage" | "payments">): void {
  const items = (plan.batches ?? []).flatMap(({ serials, reuse }) => (reuse ? serials : []));
  const shared = new Set([...plan.objects.flatMap(({ serial, reuse }) => (reuse === true ? [serial] : [])), ...items]);
  if (shared.size === 0) return;
  const lost = new Set<string>();
  storage.onRestore(() => shared.forEach((serial) => void payments.lost(serial)));
  storage.onEvent((id, { type, object }) => {
    if (!/^(speechjobs|videojobs)\./.test(id)) return;
    const serial = serialOf(object);
    const uid = textAt(object["metadata"], "uid") ?? "";
    const { phase, submission } = objectAt(object, "status");
    const isOver = type === "DELETED" ? phase !== "Succeeded" : phase === "Failed";
    if (serial === undefined || !shared.has(serial) || !isOver || submission === undefined || lost.has(uid)) return;
    lost.add(uid);
    payments.lost(serial);
  });
}
