import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Plugin } from "esbuild";

/** Puts the simulator's media files into the bundle: replaces the module that reads them from disk. */
export const bundledMedia: Plugin = {
  name: "bundled-media",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]simulator[\\/]media[\\/]read-media\.ts$/ }, async ({ path }) => {
      const folder = dirname(path);
      const names = (await readdir(folder)).filter((name) => /\.(mp3|flac|mp4)$/.test(name)).sort();
      const files = await Promise.all(
        names.map(async (name) => [name, await readFile(join(folder, name), "base64")] as const),
      );
      return {
        contents: `const files = ${JSON.stringify(Object.fromEntries(files))};
          export const readMedia = (file) => Buffer.from(files[file], "base64");`,
        loader: "js",
      };
    });
  },
};
