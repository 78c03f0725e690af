import { isJson, type Json, objectAt, textAt } from "../api-server/json.ts";
import { objectOf, SYNC_MS } from "../scenario/manifests.ts";
import type { World } from "../scenario/world.ts";
import {
  condition,
  endpointProblems,
  type FieldDifference,
  isSuspendedSpec,
  NO_ENDPOINT,
  nameOf,
  shown,
} from "./stability.ts";

/** Judges statuses while nothing disturbs the operator. Call `look` again and again. */
export type TruthWatch = { look(): void };

/** Reads, reconciles and patches after a list. */
const SLACK_MS = 10_000;
/** A new generation is observed within this time. */
const OBSERVED_WITHIN_MS = 15_000;

export function createTruthWatch(world: World): TruthWatch {
  const since = new Map<string, number>();
  const { scheduler, judge, plan } = world;

  /** How long something has been so, ms. */
  function lasting(key: string, isSo: boolean): number {
    if (!isSo) since.delete(key);
    else if (!since.has(key)) since.set(key, scheduler.now());
    return scheduler.now() - (since.get(key) ?? scheduler.now());
  }

  return {
    look() {
      for (const object of plan.objects) {
        const found = objectOf(world, object);
        const { generation } = objectAt(found, "metadata");
        const isBehind = found !== undefined && objectAt(found, "status")["observedGeneration"] !== generation;
        if (lasting(`${object.serial} behind`, isBehind) > OBSERVED_WITHIN_MS) {
          judge.violated("Bounded", `${nameOf(object)}: generation ${generation} is not observed; ${shown(found)}`);
        }
        if (found === undefined || object.kind !== "GpuEndpoint") continue;
        const isReady = !isBehind && condition(found, "Ready")?.["status"] === "True";
        const tells = (difference: FieldDifference) => tellsOfFight(found, difference);
        const problems = isReady ? endpointProblems(world, object, found, tells) : [];
        const isGone = problems.some((problem) => problem === NO_ENDPOINT);
        // A list without an endpoint proves nothing; two in a row do.
        const lists = isGone ? 2 : 1;
        lasting(`${object.serial} untrue ${isGone ? 1 : 2}`, false);
        if (lasting(`${object.serial} untrue ${lists}`, problems.length > 0) > lists * SYNC_MS + SLACK_MS) {
          judge.violated("TrueStatus", `${nameOf(object)} is Ready, but ${problems.join(", ")}`);
        }
      }
    },
  };
}

/** Reasons of Synced with which Mooring leaves a difference. */
const LEFT = ["DriftFight", "BudgetExceeded", "BudgetUnknown"];

/**
 * Mooring stops updating a field that another client keeps changing (docs/how-to/troubleshooting.md, DriftFight), and waits with more
 * workers for the budget. An endpoint that can run
 * workers still does what Ready=True says: it serves. So the status is true when it names the value at the service. A suspended
 * endpoint with workers, and an endpoint that can run none, are never ready.
 */
function tellsOfFight(object: Json, { field, desired, observed }: FieldDifference): boolean {
  const synced = condition(object, "Synced");
  const isFight = synced?.["status"] === "False" && LEFT.includes(textAt(synced, "reason") ?? "");
  const isCurrent = synced?.["observedGeneration"] === objectAt(object, "metadata")["generation"];
  if (!isFight || !isCurrent || isSuspendedSpec(object)) return false;
  if (field === "workers.max" && observed === "0") return false;
  const { drift } = objectAt(object, "status");
  const entries = Array.isArray(drift) ? drift.filter(isJson) : [];
  const entry = entries.find((one) => one["field"] === field);
  return textAt(entry, "desired") === desired && textAt(entry, "observed") === observed;
}
