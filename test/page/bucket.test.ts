import { beforeAll, expect, it } from "vitest";
import { browserForTests, expectAccessible } from "../support/browser.ts";
import { type BucketScene, createBucketScene } from "../support/bucket-scene.ts";

const openPage = browserForTests();

let scene: BucketScene;
beforeAll(async () => {
  scene = await createBucketScene("bucket");
});

it("results that were copied to a bucket play in the page, through the page's server only", async () => {
  const opened = await openPage({ args: scene.uiArgs });
  const { page, go, problems } = opened;
  await go(`objects/SpeechJob/${scene.world.namespace}/spoken`);
  await page.getByText(/^s3:\/\/results\/team\/.*bytes$/).waitFor();
  await page.locator(".waveform[data-drawn]").waitFor();
  const at = await page.locator("audio").evaluate(async (audio) => {
    if (!(audio instanceof HTMLAudioElement)) throw new Error("no audio element");
    audio.muted = true;
    await audio.play();
    audio.currentTime = audio.duration / 2;
    await new Promise((resolve) => audio.addEventListener("seeked", resolve, { once: true }));
    return audio.currentTime;
  });
  expect(at).toBeGreaterThan(0);
  await go(`objects/VideoJob/${scene.world.namespace}/filmed`);
  const seconds = await page.locator("video").evaluate(async (video) => {
    if (!(video instanceof HTMLVideoElement)) throw new Error("no video element");
    if (video.readyState < 1) await new Promise((resolve) => video.addEventListener("loadedmetadata", resolve));
    return video.duration;
  });
  expect(seconds).toBeGreaterThan(0);
  await expectAccessible(opened);
  expect(problems).toEqual([]);
});
