import type { Assumptions } from "./assumptions.ts";
import { readMedia } from "./media/read-media.ts";
import { pcm, tone, wav } from "./media/tone.ts";

export type AudioFormat = "mp3" | "wav" | "flac" | "pcm";

export type AudioSetting = {
  format?: AudioFormat | undefined;
  sample_rate?: number | undefined;
  channel?: number | undefined;
};

export type Audio = { format: AudioFormat; contentType: string; bytes: Buffer };

/** Duration of the frame in `tone.mp3`: 1152 samples at 32 kHz. */
const MP3_FRAME_SECONDS = 1152 / 32_000;

const CONTENT_TYPES: Record<AudioFormat, string> = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  flac: "audio/flac",
  pcm: "application/octet-stream",
};

/**
 * Returns a tone in the requested format. The default format is `mp3`, which the interface does not show.
 *
 * - `wav` and `pcm`: length and pitch depend on the text; `sample_rate` (8 to 48 kHz) and `channel` apply.
 * - `mp3`: the length depends on the text; always 32 kHz, one channel, 128 kbit/s.
 * - `flac`: always the same two seconds.
 */
export function synthesize(text: string, setting: AudioSetting | undefined, config: Assumptions): Audio {
  const format = setting?.format ?? "mp3";
  const seconds = clamp(text.length / config.charactersPerSecond, 0.2, config.maxAudioSeconds);
  return { format, contentType: CONTENT_TYPES[format], bytes: encode(format, { text, seconds, setting }) };
}

function encode(
  format: AudioFormat,
  { text, seconds, setting }: { text: string; seconds: number; setting: AudioSetting | undefined },
): Buffer {
  if (format === "mp3") return mp3Tone(seconds);
  if (format === "flac") return readMedia("tone.flac");

  const sampleRate = clamp(setting?.sample_rate ?? 32_000, 8000, 48_000);
  const channels = setting?.channel === 2 ? 2 : 1;
  const samples = tone({ seconds, sampleRate, channels, hertz: 220 + (text.length % 48) * 10 });
  return format === "wav" ? wav(samples, sampleRate, channels) : pcm(samples);
}

/** Returns an MP3 tone of whole frames, at least `seconds` long. */
export function mp3Tone(seconds: number): Buffer {
  const frame = readMedia("tone.mp3");
  return Buffer.alloc(Math.ceil(seconds / MP3_FRAME_SECONDS) * frame.length, frame);
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
