import { expect, it } from "vitest";
import { maxAudioBytes, type SpeechRequest } from "../../../../src/provider/speech/body.ts";

const MIB = 1024 * 1024;
const of = (change: Partial<SpeechRequest>) => maxAudioBytes({ text: "Ahoy.", voiceSetting: {}, ...change });

it.each<{ what: string; change: Partial<SpeechRequest>; seconds: number; bytesPerSecond: number }>([
  { what: "a second for each character", change: { text: "x".repeat(9_999) }, seconds: 10_059, bytesPerSecond: 40_000 },
  { what: "characters, not UTF-16 units", change: { text: "🌊" }, seconds: 61, bytesPerSecond: 40_000 },
  { what: "the pauses", change: { text: "a<#99.99#>b<#0.01#>c" }, seconds: 20 + 100 + 60, bytesPerSecond: 40_000 },
  { what: "a slow voice", change: { voiceSetting: { speed: 0.5 } }, seconds: 70, bytesPerSecond: 40_000 },
  { what: "a fast voice as a normal one", change: { voiceSetting: { speed: 2 } }, seconds: 65, bytesPerSecond: 40_000 },
  { what: "a higher bit rate", change: { audioSetting: { bitrate: 640_000 } }, seconds: 65, bytesPerSecond: 80_000 },
  { what: "samples", change: { audioSetting: { format: "wav" } }, seconds: 65, bytesPerSecond: 384_000 },
  {
    what: "the samples of a request that sets more",
    change: { audioSetting: { format: "pcm", sampleRate: 96_000, channel: 4 } },
    seconds: 65,
    bytesPerSecond: 1_536_000,
  },
])("the largest audio counts $what", ({ change, seconds, bytesPerSecond }) => {
  expect(of(change)).toBe(seconds * bytesPerSecond + MIB);
});

it("fits into the default of an ArtifactStore for the longest text in any format without pauses", () => {
  const request = { text: "x".repeat(9_999), audioSetting: { format: "wav" } } as const;
  expect(of(request)).toBeLessThan(4 * 1024 ** 3);
});
