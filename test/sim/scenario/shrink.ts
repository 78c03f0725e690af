import type { Plan } from "./plan.ts";

/** Runs a plan and tells whether it still fails in the same way. */
export type StillFails = (plan: Plan) => Promise<boolean>;

export type Shrunk = { plan: Plan; runs: number };

const PARTS = ["faults", "actions", "objects"] as const;

/**
 * Leaves out objects, actions and faults as long as the plan still fails: first halves of a list, then quarters, down to
 * single items. What is left is what the failure needs.
 * @param maxRuns the longest search
 */
export async function shrink(plan: Plan, stillFails: StillFails, maxRuns = 150): Promise<Shrunk> {
  let smallest = plan;
  let runs = 0;

  async function leaveOut(part: (typeof PARTS)[number], from: number, count: number): Promise<boolean> {
    const candidate = without(smallest, part, { from, count });
    runs += 1;
    if (!(await stillFails(candidate))) return false;
    smallest = candidate;
    return true;
  }

  for (let before = Number.POSITIVE_INFINITY; sizeOf(smallest) < before && runs < maxRuns; ) {
    before = sizeOf(smallest);
    for (const part of PARTS) {
      for (let count = Math.ceil(smallest[part].length / 2); count >= 1; count = Math.floor(count / 2)) {
        let from = 0;
        while (from < smallest[part].length && runs < maxRuns) {
          if (!(await leaveOut(part, from, count))) from += count;
        }
      }
    }
  }
  return { plan: smallest, runs };
}

export function sizeOf(plan: Plan): number {
  return PARTS.reduce((sum, part) => sum + plan[part].length, 0);
}

/** An object goes with the actions of its users. */
function without(plan: Plan, part: (typeof PARTS)[number], { from, count }: { from: number; count: number }): Plan {
  const isLeft = (_: unknown, i: number) => i < from || i >= from + count;
  if (part === "faults") return { ...plan, faults: plan.faults.filter(isLeft) };
  if (part === "actions") return { ...plan, actions: plan.actions.filter(isLeft) };
  const objects = plan.objects.filter(isLeft);
  const serials = new Set(objects.map(({ serial }) => serial));
  const actions = plan.actions.filter((action) => !("serial" in action) || serials.has(action.serial));
  return { ...plan, objects, actions };
}
