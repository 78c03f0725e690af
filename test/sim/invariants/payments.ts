import type { CoreAnswer, CoreRequest } from "../../../src/simulator/core.ts";
import { serialIn, TASK_PRICE } from "../scenario/manifests.ts";
import type { Plan } from "../scenario/plan.ts";
import type { Judge } from "./violation.ts";

/** Judges what the service accepted and charges for. */
export type Payments = {
  /** A request took effect at the service. */
  accepted(request: CoreRequest, answer: CoreAnswer): void;
  /** A user released a halted job: one more request is allowed. */
  released(serial: number): void;
  /** A job with the request of this serial, which others can reuse, is gone or failed without a result that the store has. */
  lost(serial: number): void;
  isPaid(serial: number): boolean;
  /** The last task that the service made for the job. */
  lastTask(serial: number): string | undefined;
  requests(): number;
};

/** A task fails without a charge, and when it has `ended` its job may be paid again, as often as its backoffLimit says. */
export type TaskFate = { fails: boolean; ended: boolean };

type Facts = {
  fateOf: (taskID: string) => TaskFate;
  /** Requests for an object of which no trace may be left (tampering.ts). */
  untraced: (serial: number) => number;
};

export function createPayments(plan: Plan, judge: Judge, { fateOf, untraced }: Facts): Payments {
  const paid = new Map<number, number>();
  const releases = new Map<number, number>();
  const allow = (serial: number) => void releases.set(serial, (releases.get(serial) ?? 0) + 1);
  const limits = new Map(plan.objects.map(({ serial, backoffLimit = 0 }) => [serial, backoffLimit]));
  const tasks = new Map<number, string[]>();
  let requests = 0;
  let spent = 0;

  function allowed(serial: number): number {
    const failed = (tasks.get(serial) ?? []).map(fateOf).filter(({ fails, ended }) => fails && ended).length;
    return 1 + (releases.get(serial) ?? 0) + untraced(serial) + Math.min(failed, limits.get(serial) ?? 0);
  }

  return {
    accepted(request, { effect, operation, id }) {
      if (effect !== "TaskSubmitted" && effect !== "SpeechSynthesized") return;
      requests += 1;
      const serial = serialIn(JSON.stringify(request.body));
      if (serial === undefined)
        return judge.violated("PaidOnce", `${operation} for no job: ${JSON.stringify(request.body)}`);
      const count = (paid.get(serial) ?? 0) + 1;
      paid.set(serial, count);
      const most = allowed(serial);
      if (id !== undefined) tasks.set(serial, [...(tasks.get(serial) ?? []), id]);
      if (count > most) judge.violated("PaidOnce", `job ${serial} was paid ${count} times, ${most} allowed`);
      if (operation === "submitImageToVideo" && id !== undefined && !fateOf(id).fails) spent += TASK_PRICE;
      if (plan.budgetTasks === undefined) return undefined;
      const budget = plan.budgetTasks * TASK_PRICE;
      if (spent > budget + TASK_PRICE)
        judge.violated("Budget", `${spent} spent on a budget of ${budget} (1/10000 yuan)`);
      return undefined;
    },
    released: allow,
    lost: allow,
    isPaid: (serial) => paid.has(serial),
    lastTask: (serial) => tasks.get(serial)?.at(-1),
    requests: () => requests,
  };
}
