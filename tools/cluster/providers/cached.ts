import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type Binaries, binariesIn } from "../binaries.ts";
import { buildKey, envtestKey, modFile } from "../cache.ts";
import { nothing, type Provider } from "../provider.ts";

/** What an earlier run built from the same Go module, else what one downloaded with everything in it. */
export const cached: Provider = {
  name: "cached",
  find: async ({ cache }) => {
    const names = await readdir(cache).catch(() => []);
    // What was downloaded is of about the newest version.
    const newest = modFile === "go.mod";
    const downloads = newest ? names.filter((name) => name === envtestKey(name.split("-")[1] ?? "")).sort() : [];
    for (const name of [await buildKey(), ...downloads]) {
      const binaries: Binaries | undefined = await binariesIn(join(cache, name));
      if (binaries?.controllerManager !== undefined) {
        return { kind: "binaries", binaries };
      }
    }
    return nothing(`nothing for this version of the sources in ${cache}`);
  },
};
