import { expect, it, onTestFinished } from "vitest";
import { manifest } from "../../support/manifests.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import { createStage, waitForCondition } from "../stage/stage.ts";
import { startedStage } from "../stage/started.ts";

const film = (name: string, kind: string, source: string) =>
  manifest(
    "reference",
    { videoToVideo: { input: { audioURL: null, audioFrom: { jobRef: { kind, name: source } } } } },
    name,
  );
const hasReason = (job: AnyObject, reason: string) => condition(job, "Ready")?.reason === reason;

it("a speech and a video of it in one file are each paid once, though the operator crashes between them", async () => {
  const stage = await createStage({ simulator: { timeScale: 0.1 } });
  onTestFinished(stage.end);
  const first = stage.start();
  // The video comes first: its source does not exist yet.
  await stage.apply(film("film", "SpeechJob", "words"));
  await stage.apply(manifest("hd", { text: "chained words" }, "words"));
  const waiting = await stage.eventually("the video waits for the speech", async () => {
    const job = await stage.get("VideoJob", "film");
    return hasReason(job, "WaitingForSource") && job;
  });
  expect(condition(waiting, "Ready")?.message).toMatch(
    /^The job waits for the result of SpeechJob team\/words, which is \w+$/,
  );
  expect(condition(waiting, "Stalled")).toBeUndefined();
  await stage.eventually("the speech is sent", async () => (await stage.audit("submitSpeech")).length > 0);
  first.kill();
  stage.start();

  const spoken = await waitForCondition(stage, "SpeechJob", "words", "Complete");
  const filmed = await waitForCondition(stage, "VideoJob", "film", "Complete");
  const results = (spoken.status?.["results"] ?? []) as { url: string }[];
  const videos = await stage.audit("submitVideoToVideo");
  expect(videos.map(({ body }) => body)).toEqual([
    expect.objectContaining({ input: expect.objectContaining({ audio_url: results[0]?.url }) }),
  ]);
  expect(await stage.audit("submitSpeech")).toHaveLength(1);
  // Its source wakes it: its own next look would be up to 30 s later.
  const afterMs =
    Date.parse(String(filmed.status?.["submitTime"])) - Date.parse(String(spoken.status?.["completionTime"]));
  expect(afterMs).toBeLessThan(5_000);
});

it("a video continues when its failed source is created again, and a circle of videos sends nothing and names the path", async () => {
  const stage = await startedStage({ simulator: { timeScale: 0.1 } });
  await stage.apply(film("a", "VideoJob", "b"));
  await stage.apply(film("b", "VideoJob", "a"));
  for (const [name, path] of [
    ["a", "VideoJob team/a -> VideoJob team/b -> VideoJob team/a"],
    ["b", "VideoJob team/b -> VideoJob team/a -> VideoJob team/b"],
  ] as const) {
    const job = await stage.eventually(`${name} shows the circle`, async () => {
      const found = await stage.get("VideoJob", name);
      return hasReason(found, "SourceCycle") && found;
    });
    expect(condition(job, "Stalled")?.message).toContain(path);
  }
  expect(await stage.audit("submitVideoToVideo")).toEqual([]);
  await stage.remove("VideoJob", "b");
  await stage.eventually("a misses its source", async () =>
    hasReason(await stage.get("VideoJob", "a"), "SourceNotFound"),
  );
  await stage.apply(manifest("image", {}, "b"));
  await waitForCondition(stage, "VideoJob", "a", "Complete");
});
