import { needsClusterAccount } from "./manifests.ts";
import type { World } from "./world.ts";

type Run = (until: number) => Promise<void>;

/** Accounts of a process that was killed, or that stops, are served again within this time. */
const SERVED_MS = { killed: 20_000, stopped: 3_000 } as const;
/** A replica comes back after this time, so that the others have to serve its accounts. */
const DOWN_MS = 60_000;
/** The processes have divided the accounts within this time: after 5 minutes, one moves in each minute. */
const BALANCED_MS = 20 * 60_000;
const LOOK_MS = 100;
const SETTLED_MS = 5_000;

/** While nothing else disturbs, one replica is killed and one stops: others serve their accounts, and nothing else moves. */
export async function handOver(world: World, run: Run): Promise<void> {
  const { judge, replicas } = world;
  for (const end of ["killed", "stopped"] as const) {
    await balance(world, run);
    const index = busiestOf(world);
    if (index === undefined || judge.first() !== undefined) return;
    const before = world.servers.present();
    const [moves, at] = [world.servers.moves(), world.scheduler.now()];
    const name = replicas.running()[index]?.identity;
    const served = [...before].filter(([, server]) => server === name).map(([account]) => account);
    // A ClusterAccount that nobody needs can be on its way.
    const released = [...before.values()].filter((server) => server === undefined).length;
    const left = served.filter((account) => isNeeded(world, account));
    if (end === "killed") replicas.crash(index, DOWN_MS);
    else replicas.terminate(index, DOWN_MS);

    const unserved = () => left.filter((account) => [undefined, name].includes(world.servers.present().get(account)));
    while (unserved().length > 0 && judge.first() === undefined) {
      if (world.scheduler.now() - at > SERVED_MS[end]) {
        judge.violated(
          "Served",
          `${unserved()} of ${name}, which was ${end}, are not served after ${SERVED_MS[end]} ms`,
        );
        return;
      }
      await run(world.scheduler.now() + LOOK_MS);
    }
    await run(world.scheduler.now() + SETTLED_MS);
    const moved = world.servers.moves() - moves;
    const most = served.length + released;
    if (moved > most) judge.violated("FewMoves", `${moved} accounts moved when ${name} was ${end}, of at most ${most}`);
  }
}

/** Waits until no process serves two accounts more than another one, and none is on its way from one to another. */
export async function balance(world: World, run: Run): Promise<void> {
  const { judge, replicas, scheduler } = world;
  const end = scheduler.now() + BALANCED_MS;
  const excess = () => {
    const counts = replicas.running().map(({ identity }) => countOf(world, identity));
    return counts.length < world.plan.replicas ? 2 : Math.max(...counts) - Math.min(...counts);
  };
  const unserved = () =>
    [...world.servers.present()].flatMap(([account, server]) =>
      server === undefined && isNeeded(world, account) ? account : [],
    );
  while ((excess() > 1 || unserved().length > 0) && judge.first() === undefined) {
    if (scheduler.now() > end) {
      const found = `a process serves ${excess()} accounts more than another one, and nobody serves ${unserved().length}`;
      judge.violated("Served", `${found} after ${BALANCED_MS} ms`);
      return;
    }
    await run(scheduler.now() + SETTLED_MS);
  }
}

/** Nobody takes a ClusterAccount without objects. */
const isNeeded = (world: World, account: string) =>
  !account.startsWith("clusteraccounts.") || needsClusterAccount(world);

const countOf = ({ servers }: World, name: string) =>
  [...servers.present().values()].filter((server) => server === name).length;

/** The process that serves the most accounts, where others can take them. */
function busiestOf(world: World): number | undefined {
  const counts = world.replicas.running().map(({ identity }) => countOf(world, identity));
  const most = Math.max(...counts);
  return counts.length > 1 && most > 0 ? counts.indexOf(most) : undefined;
}
