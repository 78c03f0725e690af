/** The bodies of the speech operations (interface: Speech synthesis). A schema has checked what they are made of. */

type Voice = {
  voiceID?: string | undefined;
  speed?: number | undefined;
  vol?: number | undefined;
  pitch?: number | undefined;
  emotion?: string | undefined;
  textNormalization?: boolean | undefined;
};

/** What both models take. A field that is left out is not sent, so the service's default applies. */
type CommonRequest = {
  text: string;
  audioSetting?:
    | {
        sampleRate?: number | undefined;
        bitrate?: number | undefined;
        format?: string | undefined;
        channel?: number | undefined;
      }
    | undefined;
  pronunciationDict?: { tone: Record<string, unknown>[] } | undefined;
  voiceModify?:
    | {
        pitch?: number | undefined;
        intensity?: number | undefined;
        timbre?: number | undefined;
        soundEffects?: string | undefined;
      }
    | undefined;
};

/** Short text, fewer than 10000 characters. A voice or timbre weights are required. */
export type SpeechRequest = CommonRequest & {
  voiceSetting: Voice & { latexRead?: boolean | undefined };
  languageBoost?: string | undefined;
  timbreWeights?: { voiceID: string; weight: number }[] | undefined;
  aigcWatermark?: boolean | undefined;
};

/** Long text, up to one million characters. */
export type LongSpeechRequest = CommonRequest & {
  voiceSetting: Voice;
  languageBoost?: string | undefined;
};

export function submitBody(request: LongSpeechRequest) {
  return {
    ...common(request),
    voice_setting: voice(request.voiceSetting),
    language_boost: request.languageBoost,
  };
}

export function synthesizeBody(request: SpeechRequest & { outputFormat: "url" | "hex" }) {
  return { ...shortText(request), output_format: request.outputFormat };
}

export function streamBody(request: SpeechRequest & { excludeAggregatedAudio: boolean }) {
  return { ...shortText(request), stream_options: { exclude_aggregated_audio: request.excludeAggregatedAudio } };
}

function shortText(request: SpeechRequest) {
  return {
    ...common(request),
    voice_setting: { ...voice(request.voiceSetting), latex_read: request.voiceSetting.latexRead },
    language_boost: request.languageBoost,
    timbre_weights: request.timbreWeights?.map(({ voiceID, weight }) => ({ voice_id: voiceID, weight })),
    aigc_watermark: request.aigcWatermark,
  };
}

function common({ text, audioSetting: audio, pronunciationDict, voiceModify: modify }: CommonRequest) {
  return {
    text,
    audio_setting: audio && {
      sample_rate: audio.sampleRate,
      bitrate: audio.bitrate,
      format: audio.format,
      channel: audio.channel,
    },
    pronunciation_dict: pronunciationDict,
    voice_modify: modify && {
      pitch: modify.pitch,
      intensity: modify.intensity,
      timbre: modify.timbre,
      sound_effects: modify.soundEffects,
    },
  };
}

function voice({ voiceID, speed, vol, pitch, emotion, textNormalization }: Voice) {
  return { voice_id: voiceID, speed, vol, pitch, emotion, text_normalization: textNormalization };
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
 * format. More than that is not the answer to the request, and would never end.
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
