import { it } from "vitest";
import { expectHolds } from "../seeds.ts";

// They failed before there were batches and inputs, whose requests change the order of everything after them. `npm test` simulates other
// seeds.
it.each([
  ["a user suspends a job that waits for the budget", 1069],
  ["a create keeps its unknown outcome, because only another member's key can show it", 1144],
  [
    "a user requests another endpoint while the key is another member's, and the account's own endpoint runs on",
    2000434,
  ],
  ["a leader that was paused until another one led sends no read over the rate limit", 5003667],
  ["an operator starts with a list from before a create of the previous leader, and sends no second one", 7185077],
  [
    "the key of another member comes while the outcome of a create is unknown, and another endpoint is created",
    2000805,
  ],
  ["the key of another member comes while the outcome of a create is unknown, and the object is deleted", 6010599],
  ["an operator starts with a list from before a deletion that the previous leader completed", 6020387],
  ["another client gives workers to a suspended endpoint again and again", 5004199],
  ["a leader stops while it writes the record of a paid request, and sends no request after its lease", 7185060],
  ["a user requests another endpoint while the key is another member's, and deletes the object", 7640163],
  ["a user suspends a job whose record was withdrawn when the operator stopped", 6040804],
  ["a process releases an account while another one stops, and only to one that serves fewer all the time", 40021],
  ["a process releases an account that only finished jobs name, and another one takes it", 30101],
  ["a process is killed right after it released an account, and only its other account moves", 320042],
])("%s: the invariants hold in seed %i", (_what, seed) =>
  expectHolds(seed, 1, 0, { batches: [], inputs: { objects: [], actions: [] } }),
);
