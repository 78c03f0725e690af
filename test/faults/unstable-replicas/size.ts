const number = (name: string, byDefault: number) => Number(process.env[`MOORING_REPLICAS_${name}`] ?? byDefault);

export type Disturbance = "killed" | "stopped" | "frozen";

export type Size = {
  replicas: number;
  accounts: number;
  endpoints: number;
  jobs: number;
  /** How many disturbances there are, and the time between two. The load lasts as long. */
  disturbances: number;
  everySeconds: number;
  /** How long a process is frozen: longer than its Lease lives without it. */
  frozenSeconds: number;
  /** The stream that runs during the rolling restart. */
  streamSeconds: number;
  seed: number;
};

const isLong = process.env["MOORING_REPLICAS"] === "1";

/** `npm run test:full -- --only replicas --long` has the long form; `--seed`, `--endpoints`, `--jobs` and `--kills` change each. */
export const SIZE: Size = {
  replicas: 3,
  accounts: isLong ? 20 : 6,
  endpoints: number("ENDPOINTS", isLong ? 2_000 : 60),
  jobs: number("JOBS", isLong ? 500 : 30),
  disturbances: number("KILLS", isLong ? 30 : 3),
  everySeconds: isLong ? 20 : 8,
  frozenSeconds: 25,
  streamSeconds: isLong ? 120 : 20,
  seed: number("SEED", 1),
};

/** At most, until another process serves each account of one that was disturbed. */
export const TAKEOVER_MS = { killed: 20_000, frozen: 20_000, stopped: 3_000, rolled: 3_000 };

/** Random kinds where there are many disturbances, and one of each where there are few. */
export function disturbancesOf({ disturbances }: Size, random: () => number): Disturbance[] {
  const kinds: Disturbance[] = ["killed", "stopped", "frozen"];
  if (disturbances === kinds.length) return kinds;
  return Array.from({ length: disturbances }, () => kinds[Math.floor(random() * kinds.length)] ?? "killed");
}
