import { runProgram } from "../../tools/cluster/run-program.ts";
import { NAMES } from "./names.ts";

const DAEMON_TIMEOUT_MS = 20_000;

/** Why no image can be built here; undefined when a Docker daemon answers. */
export async function missingDocker(): Promise<string | undefined> {
  try {
    await runProgram("docker", ["info"], { timeoutMs: DAEMON_TIMEOUT_MS });
    return undefined;
  } catch (error) {
    const noProgram = error instanceof Error && "code" in error && error.code === "ENOENT";
    return noProgram ? "there is no docker on PATH" : "no Docker daemon answers";
  }
}

/** Builds the image of a release from the tree, and returns its name. `dockerArguments`: more arguments of `docker build`. */
export async function buildImage(
  version: string,
  dockerArguments: readonly string[],
  say: (line: string) => void,
): Promise<string> {
  const image = `${NAMES.image}:${version}`;
  const epoch = await runProgram("git", ["log", "-1", "--format=%ct"]);
  const revision = await runProgram("git", ["rev-parse", "HEAD"]);
  const settings = [`VERSION=${version}`, `REVISION=${revision}`, `SOURCE_DATE_EPOCH=${epoch}`];
  const buildArguments = settings.flatMap((setting) => ["--build-arg", setting]);
  await runProgram("docker", ["build", ...buildArguments, ...dockerArguments, "--tag", image, "."], { onLine: say });
  return image;
}
