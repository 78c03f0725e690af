import { it } from "vitest";
import { expectHolds } from "./seeds.ts";

it.each([
  ["a user suspends a job that waits for the budget", 1069],
  ["a create with an unknown outcome stays in the journal, because only another member's key can show it", 1144],
  [
    "a user requests another endpoint while the key is another member's, and the account's own endpoint runs on",
    2000434,
  ],
])("%s: the invariants hold in seed %i", (_what, seed) => expectHolds(seed, 1, 0));
