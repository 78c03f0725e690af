import { spelled } from "../wire/spelling.ts";

/** Speech to synthesize, with the parameters of the interface in camelCase. A schema has checked them. */
export type SpeechRequest = {
  text: string;
  voiceSetting: { speed?: number | undefined; latexRead?: boolean | undefined; [parameter: string]: unknown };
  audioSetting?:
    | {
        sampleRate?: number | undefined;
        bitrate?: number | undefined;
        format?: string | undefined;
        channel?: number | undefined;
      }
    | undefined;
  [parameter: string]: unknown;
};

/** The body for long text, whose operation reads no LaTeX. */
export function submitBody({ voiceSetting: { latexRead: _, ...voiceSetting }, ...request }: SpeechRequest): object {
  return spelled({ ...request, voiceSetting });
}

export function streamBody(request: SpeechRequest, excludeAggregatedAudio: boolean): object {
  return spelled({ ...request, streamOptions: { excludeAggregatedAudio } });
}

/** Time to speak one character at normal speed, at most: figures, symbols and formulas are spoken as words. */
const SECONDS_PER_CHARACTER = 1;
/** What may be added: silence at both ends, and the mark of `aigcWatermark`. */
const EXTRA_SECONDS = 60;
/** What surrounds the samples: headers and tags. */
const EXTRA_BYTES = 1024 * 1024;
/** The highest bit rate of MP3, also the bound for a format with an unknown default. */
const MP3_BITS_PER_SECOND = 320_000;
/** Bounds for a sample rate and channels that the request does not set. The interface shows no defaults. */
const SAMPLES_PER_SECOND = 48_000;
const CHANNELS = 2;
/** The widest usual sample. */
const BYTES_PER_SAMPLE = 4;
/** Slowest factor that a speed is taken for. The interface shows no bounds. */
const SLOWEST = 0.01;

/**
 * The largest audio that a request for short text can have, in bytes: from its text with its pauses, its speed and its
 * format. A response with more is not the answer to the request.
 */
export function maxAudioBytes({ text, voiceSetting, audioSetting }: SpeechRequest): number {
  const pauses = [...text.matchAll(/<#(\d+(?:\.\d+)?)#>/g)].reduce((sum, [, seconds]) => sum + Number(seconds), 0);
  const slower = Math.max(SLOWEST, Math.min(1, voiceSetting.speed ?? 1));
  const seconds = ([...text].length * SECONDS_PER_CHARACTER) / slower + pauses + EXTRA_SECONDS;
  return Math.ceil(seconds * bytesPerSecond(audioSetting)) + EXTRA_BYTES;
}

function bytesPerSecond(setting: SpeechRequest["audioSetting"]): number {
  const { format = "mp3", bitrate = 0, sampleRate = 0, channel = 0 } = setting ?? {};
  if (format === "mp3") return Math.max(bitrate, MP3_BITS_PER_SECOND) / 8;
  return Math.max(sampleRate, SAMPLES_PER_SECOND) * Math.max(channel, CHANNELS) * BYTES_PER_SAMPLE;
}
