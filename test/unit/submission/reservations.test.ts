import fc from "fast-check";
import { expect, it } from "vitest";
import { createSpendingAdmission, type SpendingAdmission } from "../../../src/submission/admission.ts";
import type { Allowance } from "../../../src/submission/allowance.ts";
import type { EndedTask } from "../../../src/submission/reservations.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const KEY = "Account/team/default";
const COST = 10n;
const LIMIT = 4n * COST;
const OPERATION = "submitSpeech";

/**
 * What a job's request has come to. `Answered`: the response is there, and the status does not show it yet. `effect`: the service
 * charges it.
 */
type Request =
  | { kind: "None" }
  | { kind: "Asking" }
  | { kind: "Admitted" }
  | { kind: "Begun"; opening: boolean }
  | { kind: "Sent"; effect: boolean }
  | { kind: "Answered"; end: "NotTaken" | "Task" | "Results" | "Unknown"; effect: boolean }
  | { kind: "Tracked" }
  | { kind: "Finished" };

type JobOfTest = { uid: string; request: Request; deleted: boolean };

/** An account with a budget of four tasks, its jobs as their controller drives them, and the service that charges each task once. */
class World {
  readonly clock = createFakeClock();
  readonly jobs: JobOfTest[];
  allowance: Allowance = { maxTasks: undefined, budget: undefined, reserve: COST };
  admission: SpendingAdmission;
  /** Charges that the service has made, and those that its budgets show. */
  charged = 0n;
  shown = 0n;
  /** Requests that may have cost something and are never charged: they reserve until settleTime is over. */
  uncharged = 0n;
  reading: { startedAt: number; used?: bigint } | undefined;

  constructor(count: number) {
    this.jobs = Array.from({ length: count }, (_, i) => ({
      uid: `job-${i}`,
      request: { kind: "None" },
      deleted: false,
    }));
    this.admission = this.process([]);
    this.read();
  }

  process(ended: EndedTask[]): SpendingAdmission {
    return createSpendingAdmission({
      clock: this.clock,
      allowance: () => this.allowance,
      inFlight: () => this.jobs.filter(({ request }) => request.kind === "Tracked").map((job) => this.work(job)),
      ended: () => ended,
    });
  }

  work = ({ uid }: Pick<JobOfTest, "uid">) => ({ uid, namespace: "team", operation: OPERATION }) as const;

  ask(job: JobOfTest): void {
    if (job.request.kind !== "None" && job.request.kind !== "Asking" && job.request.kind !== "Admitted") return;
    const answer = this.admission.request(KEY, this.work(job), () => {});
    job.request = { kind: answer.kind === "Admitted" ? "Admitted" : "Asking" };
  }

  begin(job: JobOfTest): void {
    this.ask(job);
    if (job.request.kind !== "Admitted") return;
    job.request = { kind: "Begun", opening: false };
    this.admission.began(job.uid);
  }

  open(job: JobOfTest): void {
    if (job.request.kind !== "Begun") return;
    job.request = { kind: "Begun", opening: !job.request.opening };
    if (job.request.opening) this.admission.opening(job.uid);
    else this.admission.began(job.uid);
  }

  send(job: JobOfTest, effect: boolean): void {
    if (job.request.kind !== "Begun") return;
    this.admission.sent(job.uid);
    job.request = { kind: "Sent", effect };
    if (effect) this.charged += COST;
    expect(this.charged, "never above the budget").toBeLessThanOrEqual(LIMIT);
  }

  answer(job: JobOfTest, variant: number): void {
    const { request } = job;
    if (request.kind === "Begun") job.request = { kind: "Answered", end: "NotTaken", effect: false };
    else if (request.kind === "Sent") {
      const ends = request.effect ? (["Task", "Results", "Unknown"] as const) : (["NotTaken", "Unknown"] as const);
      const end = ends[variant % ends.length] ?? "Unknown";
      job.request = { kind: "Answered", end, effect: request.effect };
    } else return;
    if (job.deleted) this.forget(job);
  }

  /** The status shows the response. `lost`: the response to that write was lost, so that the next reconcile goes by the status. */
  record(job: JobOfTest, lost: boolean): void {
    const { request, uid } = job;
    if (request.kind !== "Answered") return;
    if (request.end === "Unknown" && !request.effect) this.uncharged += COST;
    if (request.end === "Task") {
      job.request = { kind: "Tracked" };
      this.admission.running(KEY, this.work(job));
      return;
    }
    job.request = { kind: request.end === "NotTaken" ? "None" : "Finished" };
    if (request.end === "Results" && lost) this.admission.release(uid, { charged: true });
    else if (request.end === "Unknown") this.admission.release(uid, { charged: true, unseen: true });
    else this.admission.release(uid, { charged: request.end !== "NotTaken" });
    this.reconcile(job);
  }

  /** The status of an admitted job shows its end, as after its deadline. The response to that write was lost. */
  fail(job: JobOfTest): void {
    if (job.request.kind !== "Asking" && job.request.kind !== "Admitted") return;
    job.request = { kind: "Finished" };
    this.reconcile(job);
  }

  end(job: JobOfTest, again: boolean, lost: boolean): void {
    if (job.request.kind !== "Tracked") return;
    if (!lost) this.admission.release(job.uid, { charged: true });
    job.request = { kind: again ? "None" : "Finished" };
    this.reconcile(job);
  }

  /** What each reconcile says of what the status shows. A request can be answered, but not yet shown. */
  reconcile(job: JobOfTest): void {
    const { kind } = job.request;
    if (job.deleted) return;
    if (kind === "Finished") this.admission.release(job.uid, { charged: true });
    else if (kind === "Tracked") this.admission.running(KEY, this.work(job));
    else this.admission.taskEnded(job.uid);
  }

  withdraw(job: JobOfTest): void {
    if (job.request.kind === "Asking" || job.request.kind === "Admitted") job.request = { kind: "None" };
    this.admission.withdraw(job.uid);
  }

  delete(job: JobOfTest): void {
    if (job.deleted) return;
    job.deleted = true;
    this.admission.withdraw(job.uid);
    if (job.request.kind !== "Begun" && job.request.kind !== "Sent") this.forget(job);
  }

  /** A task that runs on is followed until its end, which is observed at once here. */
  forget(job: JobOfTest): void {
    const { request } = job;
    const unseen = request.kind === "Answered" && request.end === "Unknown";
    if (unseen && !request.effect) this.uncharged += COST;
    const charged = request.kind !== "Answered" || request.end !== "NotTaken";
    this.admission.release(job.uid, { charged, unseen });
    job.request = { kind: "Finished" };
  }

  /** A reading begins, sees what the service shows, and ends: other things happen between. */
  read(): void {
    const { reading } = this;
    if (reading === undefined) this.reading = { startedAt: this.clock.monotonic() };
    else if (reading.used === undefined) reading.used = this.shown;
    else {
      const { used, startedAt } = reading;
      this.reading = undefined;
      this.allowance.budget = { kind: "Limited", headroom: LIMIT - used, message: "Key a has some left" };
      this.admission.moneyRead(KEY, [{ book: "keys", used, startedAt }]);
    }
  }

  show(): void {
    if (this.shown < this.charged) this.shown += COST;
  }

  /** Everything ends, and the budgets show it. */
  async settle(): Promise<void> {
    for (const job of this.jobs) {
      this.withdraw(job);
      if (job.request.kind === "Sent" || job.request.kind === "Begun") this.answer(job, 0);
      this.record(job, false);
      this.end(job, false, false);
    }
    this.shown = this.charged;
    await this.clock.advance(61_000);
    this.reading = undefined;
    for (let i = 0; i < 3; i++) this.read();
  }

  /** How many more tasks the budget lets go. */
  free(): bigint {
    for (let count = 0n; ; count++) {
      const work = this.work({ uid: `probe-${count}` });
      if (this.admission.request(KEY, work, () => {}).kind === "Waiting") return count;
    }
  }
}

const JOBS = 6;
const step = fc.record({ act: fc.nat(13), job: fc.nat(JOBS - 1), variant: fc.nat(5) });

async function run(world: World, { act, job: index, variant }: { act: number; job: number; variant: number }) {
  const job = world.jobs[index] as JobOfTest;
  const acts: (() => void | Promise<void>)[] = [
    () => world.ask(job),
    () => world.begin(job),
    () => world.begin(job),
    () => world.open(job),
    () => world.send(job, variant > 0),
    () => world.answer(job, variant),
    () => world.record(job, variant % 2 === 0),
    () => world.end(job, variant % 3 === 0, variant % 2 === 0),
    () => world.reconcile(job),
    () => (variant === 0 ? world.fail(job) : world.withdraw(job)),
    () => (variant === 0 ? world.delete(job) : undefined),
    () => world.read(),
    () => world.show(),
    () => world.clock.advance(100 * 10 ** (variant % 4)),
  ];
  await acts[act]?.();
}

it("a request reserves its cost once, from its place until its charge shows, in any order of events", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 200, size: "max" }), async (steps) => {
      const world = new World(JOBS);
      world.read();
      world.read();
      for (const one of steps) await run(world, one);
      await world.settle();
      expect(world.free() * COST).toBe(LIMIT - world.charged - world.uncharged);
    }),
    { numRuns: 500, seed: 1 },
  );
});
