import { build } from "esbuild";
import { expect, it } from "vitest";
import { z } from "zod";
import { bundledMedia } from "../../scripts/bundled-media.ts";
import { type MediaFile, readMedia } from "../../src/simulator/media/read-media.ts";

const bundle = z.object({ readMedia: z.function({ input: [z.string()], output: z.instanceof(Buffer) }) });

it("a bundle returns the same media without the files", async () => {
  const { outputFiles } = await build({
    entryPoints: ["src/simulator/media/read-media.ts"],
    bundle: true,
    format: "esm",
    platform: "node",
    write: false,
    plugins: [bundledMedia],
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  const bundled = bundle.parse(await import(`data:text/javascript;base64,${code}`));
  const files: MediaFile[] = ["tone.mp3", "tone.flac", "plain.mp4"];
  for (const file of files) expect(bundled.readMedia(file).equals(readMedia(file))).toBe(true);
});
