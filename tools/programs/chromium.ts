import { findProgram, pathFolders } from "../cluster/binaries.ts";

type Env = Readonly<Record<string, string | undefined>>;

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"] as const;

/** What the tests of the web page say when they cannot run. */
export const NO_CHROMIUM = `there is no Chromium on PATH: install Debian's package chromium, or set MOORING_CHROMIUM to its path`;

/** The machine's own browser: MOORING_CHROMIUM, or the first that is on PATH. Undefined: there is none. */
export async function findChromium(env: Env = process.env): Promise<string | undefined> {
  if (env["MOORING_CHROMIUM"]) return env["MOORING_CHROMIUM"];
  for (const name of NAMES) {
    const found = await findProgram(name, pathFolders(env["PATH"]));
    if (found !== undefined) return found;
  }
  return undefined;
}
