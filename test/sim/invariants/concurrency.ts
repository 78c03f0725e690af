import { objectAt, textAt } from "../api-server/json.ts";
import { serialOf } from "../scenario/manifests.ts";
import type { World } from "../scenario/world.ts";
import { condition } from "./stability.ts";

const IN_FLIGHT = ["Submitting", "Queued", "Running"];

/**
 * At most `maxConcurrentTasks` jobs have a phase in flight. One whose polls fail for long does not count (docs/reference/api.md), and neither does
 * one that a user attached to a task that runs already: no request of ours began it.
 */
export function watchConcurrency({ storage, judge, plan }: Pick<World, "storage" | "judge" | "plan">): void {
  const { maxConcurrentTasks } = plan;
  if (maxConcurrentTasks === undefined) return;
  const inFlight = new Map<string, string>();
  storage.onEvent((id, { object, type }) => {
    if (!id.startsWith("speechjobs.") && !id.startsWith("videojobs.")) return;
    const uid = textAt(object["metadata"], "uid") ?? "";
    const status = objectAt(object, "status");
    const isAttached = condition(object, "TaskAttached")?.["status"] === "True";
    const isFailing = condition(object, "Stalled") !== undefined || status["pollsFailingSince"] !== undefined;
    const phase = textAt(status, "phase") ?? "";
    if (type === "DELETED" || !IN_FLIGHT.includes(phase) || isFailing || isAttached) {
      inFlight.delete(uid);
      return;
    }
    if (inFlight.has(uid)) return;
    inFlight.set(uid, `job ${serialOf(object)}`);
    if (inFlight.size > maxConcurrentTasks) {
      const jobs = [...inFlight.values()].join(", ");
      judge.violated("Concurrency", `${jobs} are in flight, ${maxConcurrentTasks} allowed`);
    }
  });
}
