import { expect, it } from "vitest";
import { createUnknownCreates } from "../../../../src/controllers/gpu-endpoint/creates.ts";
import type { JournalEntry } from "../../../../src/submission/journal.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const entry = (id: string, change: Partial<JournalEntry> = {}): JournalEntry => ({
  id,
  kind: "GpuEndpoint",
  key: "team/echo",
  uid: "u",
  operation: "createEndpoint",
  attempt: 1,
  specHash: "h",
  time: "2020-01-01T00:00:00Z",
  ...change,
});

it("a create counts as unknown from the first look on, however old its intent is", async () => {
  const clock = createFakeClock();
  const creates = createUnknownCreates(clock);
  expect(creates.ageMs("u", entry("one"))).toBe(0);
  await clock.advance(30_000);
  expect(creates.ageMs("u", entry("one"))).toBe(30_000);
  expect(creates.ageMs("other", entry("two", { uid: "other" }))).toBe(0);
  await clock.advance(30_000);
  expect(creates.ageMs("u", entry("one"))).toBe(60_000);
});

it("another attempt, or one whose outcome is known meanwhile, begins anew", async () => {
  const clock = createFakeClock();
  const creates = createUnknownCreates(clock);
  creates.ageMs("u", entry("one"));
  await clock.advance(30_000);
  expect(creates.ageMs("u", entry("next"))).toBe(0);
  await clock.advance(30_000);
  expect(creates.ageMs("u", entry("next", { outcome: { endpointID: "ep" } }))).toBe(0);
  expect(creates.ageMs("u", undefined)).toBe(0);
  expect(creates.ageMs("u", entry("next"))).toBe(0);
});
