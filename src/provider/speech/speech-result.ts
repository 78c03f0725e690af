/** Audio as the service returns it: a URL that works for 24 hours, or bytes, which went to the sink. */
export type SpeechResult = { url: string } | { bytes: number };
/** Takes audio as it arrives. The transfer waits for it. */
export type AudioSink = (audio: Uint8Array) => Promise<void>;
/** A piece of synthesized audio, in the requested format. `url`: of all audio, in place of bytes. */
export type AudioChunk = { audio: Uint8Array; url?: string };
