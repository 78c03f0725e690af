/** A piece of output: seconds since the piece before, and the text. */
export type Output = { delay: number; text: string };
export type Size = { columns: number; rows: number };

/** The longest pause of a recording, in seconds. */
export const LONGEST_PAUSE = 2;

/**
 * What `script --log-out --log-timing` wrote, as pieces of output. `typescript` has a first line about the recording; each line of
 * `timing` has seconds and bytes.
 */
export function outputsOf(typescript: Uint8Array, timing: string): Output[] {
  const decoder = new TextDecoder();
  let at = typescript.indexOf("\n".charCodeAt(0)) + 1;
  return timing
    .trim()
    .split("\n")
    .map((line) => {
      const [delay = 0, bytes = 0] = line.split(" ").map(Number);
      const text = decoder.decode(typescript.subarray(at, at + bytes), { stream: true });
      at += bytes;
      return { delay, text };
    });
}

/** Replaces each text that tells where the recording was made. `[from, to]`, the longest first. */
export function withoutTraces(outputs: readonly Output[], replacements: readonly [string, string][]): Output[] {
  const ordered = replacements.filter(([from]) => from.length > 1).sort(([a], [b]) => b.length - a.length);
  const replaced = outputs.map(({ delay, text }) => ({
    delay,
    text: ordered.reduce((result, [from, to]) => result.replaceAll(from, to), text),
  }));
  return replaced.map(({ delay, text }) => ({
    delay,
    text: text.replaceAll(/\$TMPDIR\/([a-z-]+)-\w{6}\b/g, "$TMPDIR/$1"),
  }));
}

/** The recording as asciicast v2: a header, and one event for each piece of output. */
export function castOf(command: string, outputs: readonly Output[], { columns, rows }: Size): string {
  let time = 0;
  const events: [number, "o", string][] = [[0, "o", `$ ${command}\r\n`]];
  for (const { delay, text } of outputs) {
    time += Math.min(delay, LONGEST_PAUSE);
    if (text !== "") events.push([Number(time.toFixed(3)), "o", text]);
  }
  events.push([Number((time + LONGEST_PAUSE).toFixed(3)), "o", ""]);
  const header = { version: 2, width: columns, height: rows, title: command };
  return [header, ...events].map((line) => `${JSON.stringify(line)}\n`).join("");
}
