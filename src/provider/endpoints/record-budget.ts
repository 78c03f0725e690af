/**
 * Memory for what the process remembers of the endpoints that services show, shared by all accounts. An account that takes no more than an
 * equal part always fits, so one account's service never costs another account its list.
 */
export type RecordBudget = {
  /** Begins to count what one account remembers. */
  open(): AccountRecords;
  /** Bytes that are counted now. */
  inUse(): number;
};

export type AccountRecords = {
  /** One of the places where the account's records are remembered. */
  share(): RecordShare;
  /** The account remembers nothing any more. */
  close(): void;
};

/** Counts `bytes` for the place, instead of what it had. Returns whether the account may keep so much. */
export type RecordShare = (bytes: number) => boolean;

/** A quarter of the memory limit that the chart sets (512 MiB). */
const BUDGET_BYTES = 128 * 1024 * 1024;

export function createRecordBudget(budget: number = BUDGET_BYTES): RecordBudget {
  let accounts = 0;
  let total = 0;

  return {
    open() {
      let used = 0;
      accounts++;
      return {
        share() {
          let held = 0;
          return (bytes) => {
            total += bytes - held;
            used += bytes - held;
            held = bytes;
            return total <= budget || used <= budget / accounts;
          };
        },
        close() {
          total -= used;
          used = 0;
          accounts--;
        },
      };
    },
    inUse: () => total,
  };
}
