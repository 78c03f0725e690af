/** A changed Secret is noticed within this time, with up to 150 accounts: Secrets are read by `get` only, never watched. */
export const SECRET_POLL_MS = 15_000;
/** With more accounts, all Ready ones share 10 reads a second: each adds this to the interval. */
const MS_PER_ACCOUNT = 100;

/** When the Secret of an account is read again, ms. An account that is not Ready keeps the shortest interval. */
export function secretPollMs(isReady: boolean, accounts: number): number {
  return isReady ? Math.max(SECRET_POLL_MS, accounts * MS_PER_ACCOUNT) : SECRET_POLL_MS;
}
