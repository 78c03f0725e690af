/** Kilobits a second by the index in a frame header, Layer III. */
const BITRATES = {
  mpeg1: [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  mpeg2: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
const RATES = { mpeg1: [44_100, 48_000, 32_000], mpeg2: [22_050, 24_000, 16_000] };

/**
 * Silence as MPEG Layer III: frames whose side information says that no spectral data follows. The nearest sample rate
 * and bit rate of the format are used.
 */
export function silentMp3(options: { seconds: number; sampleRate: number; channels: number; bitrate: number }): Buffer {
  const { seconds, sampleRate, channels, bitrate } = options;
  const version = sampleRate >= 28_000 ? "mpeg1" : "mpeg2";
  const rateIndex = nearest(RATES[version], sampleRate);
  const bitrateIndex = nearest(BITRATES[version], bitrate / 1000);
  const rate = RATES[version][rateIndex] ?? 44_100;
  const kilobits = BITRATES[version][bitrateIndex] ?? 128;
  const samplesPerFrame = version === "mpeg1" ? 1152 : 576;
  const frame = Buffer.alloc(Math.floor(((samplesPerFrame / 8) * kilobits * 1000) / rate));
  frame.writeUInt16BE(version === "mpeg1" ? 0xfffb : 0xfff3, 0);
  frame.writeUInt8(((bitrateIndex + 1) << 4) | (rateIndex << 2), 2);
  frame.writeUInt8(channels === 1 ? 0xc0 : 0x00, 3);
  const frames = Math.max(1, Math.ceil((seconds * rate) / samplesPerFrame));
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}

function nearest(values: readonly number[], wanted: number): number {
  let best = 0;
  for (const [index, value] of values.entries()) {
    if (Math.abs(value - wanted) < Math.abs((values[best] ?? 0) - wanted)) best = index;
  }
  return best;
}
