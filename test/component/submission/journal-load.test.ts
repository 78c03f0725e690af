import { expect, it } from "vitest";
import type { Intent } from "../../../src/submission/journal.ts";
import { until } from "../../support/fake-clock.ts";
import { intent, journalOf, journalWorld, SHARD_PATHS } from "../../support/journal.ts";

const forever = new AbortController().signal;

const IN_FLIGHT = 500;
/** 25 submissions per second. */
const EVERY_MS = 40;
const SECONDS = 10;
/** The same load with the earlier journal, one ConfigMap that every commit rewrote: 500 writes. */
const EARLIER_BYTES_PER_SECOND = 4_593_250;

/** As long as the names and UIDs of a cluster. */
function jobIntent(index: number): Intent {
  const id = `5f3c9a52-8d1e-4c0b-9a57-${String(index).padStart(12, "0")}`;
  const uid = `c0ffee00-17b4-4e6d-8f21-${String(index).padStart(12, "0")}`;
  return { ...intent(id), key: `team-a/announcement-${index}`, uid };
}

it(`${IN_FLIGHT} intents in flight and ${1_000 / EVERY_MS} submissions per second: bytes written`, async () => {
  const w = await journalWorld();
  const journal = journalOf(w);
  await journal.open(forever);
  let pending = 0;
  let bytes = 0;
  let writes = 0;
  w.api.answer((request) => {
    bytes += JSON.stringify(request.body).length;
    writes++;
    return w.store.script(request);
  });
  const commit = async (index: number) => {
    pending++;
    await journal.commit(jobIntent(index), forever, journal.id(jobIntent(index).uid));
    pending--;
  };
  const filled = Promise.all(Array.from({ length: IN_FLIGHT }, (_, index) => commit(index)));
  await until(() => pending === 0, w);
  await filled;

  bytes = 0;
  writes = 0;
  const commits: Promise<void>[] = [];
  for (let tick = 0; tick < (SECONDS * 1_000) / EVERY_MS; tick++) {
    journal.settle(jobIntent(tick).id);
    commits.push(commit(IN_FLIGHT + tick));
    for (let ms = 0; ms < EVERY_MS; ms += 5) {
      await w.clock.advance(5);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
  }
  const perSecond = bytes / SECONDS;
  console.log(`${Math.round(perSecond)} bytes/s in ${writes} writes; earlier: ${EARLIER_BYTES_PER_SECOND} bytes/s`);
  expect(perSecond).toBeLessThan(350_000);
  expect(perSecond).toBeLessThan(EARLIER_BYTES_PER_SECOND / 10);
  await until(() => pending === 0, w);
  await Promise.all(commits);
});

it("20,000 unresolved intents fit, and are found again", async () => {
  const COUNT = 20_000;
  const w = await journalWorld();
  const journal = journalOf(w);
  await journal.open(forever);
  let committed = 0;
  const commits = Array.from({ length: COUNT }, async (_, index) => {
    await journal.commit(jobIntent(index), new AbortController().signal, journal.id(jobIntent(index).uid));
    committed++;
  });
  await until(() => committed === COUNT, w);
  await Promise.all(commits);
  const next = journalOf(w, "two");
  expect(await next.open(forever)).toHaveLength(COUNT);
  const indexes = [0, COUNT / 2, COUNT - 1];
  expect(indexes.map((index) => next.find(jobIntent(index).uid))).toEqual(indexes.map(jobIntent));
  const sizes = SHARD_PATHS.map((path) => w.store.objects.get(path)?.data?.["intents"]?.length ?? 0);
  expect(Math.max(...sizes)).toBeLessThan(450_000);
});
