import { expect, it } from "vitest";
import { hasEntry } from "../../../../src/controllers/jobs/journal-entry.ts";
import { videoJobOf } from "../../../support/jobs.ts";

/** A journal without entries, as after a loss: the status alone says what may be paid for. */
const journal = { entriesOf: () => [], covers: () => false } as const;
const unsent = { conditions: [] };
const known = { attempt: 1, id: "one", specHash: "s", time: "2026-03-01T00:00:00Z", state: "Accepted" } as const;

it.each([
  { what: "is Pending", status: { ...unsent, phase: "Pending" }, unexplained: false },
  { what: "is Submitting", status: { ...unsent, phase: "Submitting" }, unexplained: true },
  {
    what: "is Submitting a second time",
    status: { ...unsent, phase: "Submitting", submission: known },
    unexplained: true,
  },
  { what: "is Queued without a submission", status: { ...unsent, phase: "Queued" }, unexplained: true },
  { what: "is Running without a submission", status: { ...unsent, phase: "Running" }, unexplained: true },
  {
    what: "is Queued with its submission",
    status: { ...unsent, phase: "Queued", submission: known },
    unexplained: false,
  },
  { what: "has succeeded", status: { ...unsent, phase: "Succeeded" }, unexplained: false },
] as const)("a job that $what may have a request that nobody knows: $unexplained", ({ status, unexplained }) => {
  const job = videoJobOf("image", {}, status);
  expect(hasEntry(journal, "VideoJob", job)).toBe(unexplained);
});
