import type { Assumptions } from "./assumptions.ts";
import { flac } from "./media/flac.ts";
import { silentMp3 } from "./media/mp3.ts";
import { pcm, tone, wav } from "./media/tone.ts";

export type AudioSetting =
  | {
      sample_rate?: number | undefined;
      bitrate?: number | undefined;
      format?: string | undefined;
      channel?: number | undefined;
    }
  | undefined;

export type Audio = { format: string; contentType: string; bytes: Buffer };

const CONTENT_TYPES: Record<string, string> = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  flac: "audio/flac",
  pcm: "application/octet-stream",
};

/** Audio of the text's length in the format asked for: a tone, whose pitch depends on the text, or silence as MP3. */
export function synthesize(text: string, setting: AudioSetting, config: Assumptions): Audio {
  const format = setting?.format ?? "mp3";
  const sampleRate = clamp(setting?.sample_rate ?? 32_000, 8000, 48_000);
  const channels = setting?.channel === 2 ? 2 : 1;
  const seconds = clamp(text.length / config.charactersPerSecond, 0.2, config.maxAudioSeconds);
  const contentType = CONTENT_TYPES[format] ?? "application/octet-stream";
  if (format === "mp3") {
    const bitrate = setting?.bitrate ?? 128_000;
    return { format, contentType, bytes: silentMp3({ seconds, sampleRate, channels, bitrate }) };
  }
  const samples = tone({ seconds, sampleRate, channels, hertz: 220 + (text.length % 48) * 10 });
  if (format === "wav") return { format, contentType, bytes: wav(samples, sampleRate, channels) };
  if (format === "flac") return { format, contentType, bytes: flac(samples, sampleRate, channels) };
  return { format, contentType, bytes: pcm(samples) };
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
