import { afterAll, beforeAll, expect, it } from "vitest";
import { createBadDay } from "./bad-day.ts";
import type { Day } from "./day.ts";
import { recordingOf } from "./recording.ts";

let day: Day;
beforeAll(async () => {
  day = await createBadDay();
});
afterAll(() => day.stage.end());

it("no status contradicts its object, or an earlier status", () => {
  // The service only pretends to have the tasks of these two.
  const others = day.contradictions.filter((one) => !/^SpeechJob (?:forgotten|shaky): /.test(one));
  expect(others).toEqual([]);
  expect(day.stage.exits()).toEqual([]);
});

/** After a change that is meant: `npm run generate days`, and read the difference. */
it("everything is as recorded: requests, writes, events, statuses and metrics", async () => {
  await expect(await recordingOf(day)).toMatchFileSnapshot("bad-day.txt");
});
