/**
 * `npm run test:full -- --only batch --long` has the long form of all, `-t NAME` selects one, and `--items` changes its size. All run with
 * the same steps; resident memory is compared in the longest one alone.
 */
const isLong = process.env["MOORING_BATCH"] === "1";
const items = (short: number, long: number) => Number(process.env["MOORING_BATCH_ITEMS"] ?? (isLong ? long : short));

/** The operator is killed. `maxHaltedIndexes`: more than the items whose outcome is unknown, so that one command resolves all of them. */
export const KILLED = {
  items: items(300, 5_000),
  parallelism: 50,
  maxHaltedIndexes: 2_000,
  /** Some requests are under way at a kill: their outcome is unknown. */
  requestsPerSecond: isLong ? 30 : 15,
  /** The share of requests with each fault. */
  share: isLong ? 0.01 : 0.02,
};

/** A batch of `items` is compared with one of `few`. */
export const MANY = { few: isLong ? 1_000 : 100, items: items(300, 100_000), parallelism: 50 };

export const AGAIN = { items: items(100, 10_000), parallelism: isLong ? 200 : 50 };

/** A limit on a busy machine: only so that a hanging test ends. */
export const LIMIT_MS = isLong ? 3 * 3_600_000 : 900_000;
