/** Returns a quiet sine tone as interleaved 16-bit samples. `hertz` is an integer. */
export function tone(options: { seconds: number; sampleRate: number; channels: number; hertz: number }): Int16Array {
  const { seconds, sampleRate, channels, hertz } = options;
  const frames = Math.max(1, Math.round(seconds * sampleRate));
  const samples = new Int16Array(frames * channels);
  const step = (2 * Math.PI * hertz) / sampleRate;
  // An integer frequency repeats every second, so the first second is computed and then copied.
  const computed = Math.min(frames, sampleRate);
  for (let frame = 0; frame < computed; frame++) {
    samples.fill(Math.round(Math.sin(frame * step) * 8000), frame * channels, (frame + 1) * channels);
  }
  for (let done = computed; done < frames; done += sampleRate) {
    samples.copyWithin(done * channels, 0, sampleRate * channels);
  }
  return samples;
}

/** Encodes samples as little-endian PCM. */
export function pcm(samples: Int16Array): Buffer {
  const bytes = Buffer.alloc(samples.length * 2);
  for (let index = 0; index < samples.length; index++) bytes.writeInt16LE(samples[index] ?? 0, index * 2);
  return bytes;
}

/** Encodes samples as RIFF WAVE with 16-bit PCM. */
export function wav(samples: Int16Array, sampleRate: number, channels: number): Buffer {
  const data = pcm(samples);
  const header = Buffer.alloc(44);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(36 + data.length, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * channels * 2, 28);
  header.writeUInt16LE(channels * 2, 32);
  header.writeUInt16LE(16, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(data.length, 40);
  return Buffer.concat([header, data]);
}
