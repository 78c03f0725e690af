import { setTimeout as sleep } from "node:timers/promises";
import { isStarted } from "../../support/serving.ts";
import { eventually, type Operator, type World } from "../../support/world.ts";

/** One process of a replica. */
export type Life = {
  operator: Operator;
  /** The replica's number, and which of its processes this is. */
  name: string;
  /** How it was disturbed; undefined: not yet. */
  fate?: "killed" | "stopped" | "frozen";
};

export type Replicas = {
  /** All processes so far, in the order of their start. */
  lives: readonly Life[];
  /** The processes that run and were not disturbed. */
  steady(): Life[];
  /** SIGKILL. Another process starts at once. */
  kill(life: Life): Promise<void>;
  /** SIGTERM. Another process starts when it has ended. */
  stop(life: Life): Promise<void>;
  /** SIGSTOP, then SIGCONT. If the process ends then, another one starts. */
  freeze(life: Life, ms: number): Promise<void>;
  /** SIGTERM to a process beside which another one was started and is ready, as a Deployment does it. Returns its exit code. */
  replace(life: Life, onStop: () => void): Promise<{ exited: Promise<number | null> }>;
  /** Starts no other process. */
  close(): void;
};

/** A process whose Lease was ended while it was frozen ends in this time. */
const WAKES_MS = 10_000;

/** As a Deployment: a process that ends by itself is followed by another one. */
export async function startReplicas(world: World, count: number, args: string[]): Promise<Replicas> {
  const lives: Life[] = [];
  let isOver = false;

  async function start(replica: string): Promise<Life> {
    const turn = lives.filter(({ name }) => name.startsWith(`${replica}.`)).length + 1;
    const life: Life = { operator: await world.startOperator({ args }), name: `${replica}.${turn}` };
    lives.push(life);
    void life.operator.exited.then((code) => {
      if (isOver || life.fate === "killed" || life.fate === "stopped") return;
      console.log(`replica ${life.name} ended with code ${code} ${life.fate ?? "by itself"}`);
      void start(replica);
    });
    return life;
  }
  const replicaOf = ({ name }: Life) => name.split(".")[0] ?? "";

  await Promise.all(Array.from({ length: count }, (_, index) => start(String(index))));
  return {
    lives,
    steady: () => lives.filter(({ fate, operator }) => fate === undefined && isStarted(operator)),
    async kill(life) {
      life.fate = "killed";
      await life.operator.kill();
      await start(replicaOf(life));
    },
    async stop(life) {
      life.fate = "stopped";
      await life.operator.stop();
      await start(replicaOf(life));
    },
    async freeze(life, ms) {
      life.fate = "frozen";
      process.kill(life.operator.pid, "SIGSTOP");
      await sleep(ms);
      process.kill(life.operator.pid, "SIGCONT");
      const ended = await Promise.race([life.operator.exited.then(() => true), sleep(WAKES_MS, false)]);
      if (!ended) delete life.fate;
    },
    async replace(life, onStop) {
      const next = await start(replicaOf(life));
      await eventually("the next process is ready", async () => isStarted(next.operator));
      life.fate = "stopped";
      onStop();
      return { exited: life.operator.stop() };
    },
    close: () => {
      isOver = true;
    },
  };
}
