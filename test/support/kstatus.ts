import { type ConditionUpdate, setConditions } from "../../src/api/v1alpha1/conditions.ts";
import type { Condition, ObjectMeta } from "../../src/kube/types.ts";

export type Verdict = "Terminating" | "Failed" | "InProgress" | "Current";

type Observed = {
  metadata: ObjectMeta;
  status?: { observedGeneration?: number | undefined; conditions: readonly Condition[] };
};

/** How kstatus (kubectl wait, Flux, Argo CD, Helm --wait) reads an object: sigs.k8s.io/cli-utils, generic rules, in their order. */
export function kstatusOf({ metadata, status }: Observed): Verdict {
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  const { observedGeneration } = status ?? {};
  if (observedGeneration !== undefined && observedGeneration !== metadata.generation) return "InProgress";
  const is = (type: string) => status?.conditions.find((condition) => condition.type === type)?.status;
  if (is("Reconciling") === "True") return "InProgress";
  if (is("Stalled") === "True") return "Failed";
  const ready = is("Ready");
  return ready === "False" || ready === "Unknown" ? "InProgress" : "Current";
}

/** What every status guarantees (docs/reference/api.md: Status); "" when it holds. */
export function contractBreach(conditions: readonly Condition[]): string {
  const types = conditions.map(({ type }) => type);
  if (new Set(types).size !== types.length) return "a condition type appears twice";
  const of = (type: string) => conditions.find((condition) => condition.type === type);
  if (of("Ready") === undefined) return "no Ready";
  for (const type of ["Reconciling", "Stalled"]) {
    const condition = of(type);
    if (condition !== undefined && condition.status !== "True") return `${type} is there and not True`;
  }
  if (of("Reconciling") !== undefined && of("Stalled") !== undefined) return "Reconciling and Stalled together";
  if (of("Stalled") !== undefined && of("Ready")?.status !== "False") return "Stalled without Ready=False";
  return "";
}

/** `Type=Status/Reason` of each condition, sorted. */
export function shown(conditions: readonly Condition[]): string[] {
  return conditions.map(({ type, status, reason }) => `${type}=${status}/${reason}`).sort();
}

/** `VERDICT: CONDITIONS`: how kstatus reads the object, and what it shows. */
export function shows(object: Observed): string {
  return `${kstatusOf(object)}: ${shown(object.status?.conditions ?? []).join(" ")}`;
}

/** Conditions that were set at 23:00, an hour before `START`: what `shown` shows of them, separated by spaces, over those of `before`. */
export function conditionsOf(text: string, before: readonly Condition[] = []): Condition[] {
  const updates = text.split(" ").map((one) => {
    const [type, status, reason] = one.split(/[=/]/);
    return { type, status, reason, message: "" } as ConditionUpdate;
  });
  return setConditions(before, updates, "2026-02-28T23:00:00Z");
}
