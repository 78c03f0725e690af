import { expect, it } from "vitest";
import { secretPollMs } from "../../../../src/controllers/account/secret-poll.ts";

it.each([
  { accounts: 1, isReady: true, seconds: 15 },
  { accounts: 150, isReady: true, seconds: 15 },
  { accounts: 1_000, isReady: true, seconds: 100 },
  { accounts: 1_000, isReady: false, seconds: 15 },
])(
  "the Secret of one of $accounts accounts is read every $seconds s (Ready: $isReady)",
  ({ accounts, isReady, seconds }) => {
    expect(secretPollMs(isReady, accounts)).toBe(seconds * 1_000);
  },
);
