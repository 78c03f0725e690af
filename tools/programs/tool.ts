import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram, pathFolders } from "../cluster/binaries.ts";
import { buildKey, cacheFolder, fillWith } from "../cluster/cache.ts";
import { CARGO, goToolchain, PYTHON, type Toolchain } from "./toolchains.ts";

type Recipe = {
  /** Files of the tool's folder that decide what is built. */
  files: readonly string[];
  /** The tool of the machine will not do: tests need this very version, or it is our own program. */
  pinned: boolean;
} & (
  | {
      /** The Go package; a folder named after the tool pins its module. */
      package: string;
    }
  | {
      toolchain: Toolchain;
      /** The tool's folder, from this one. */
      folder: string;
      /** The program in what is built. Default: the name of the tool. */
      program?: string;
    }
);

const MODULE = ["go.mod", "go.sum"];
/** Programs that tests use besides the control plane. */
const RECIPES = {
  "bench-driver": { package: "bench/driver", files: [...MODULE, "main.go"], pinned: true },
  "bench-kopf": {
    toolchain: PYTHON,
    folder: "../../bench/peers/kopf",
    files: ["requirements.txt"],
    program: "bin/python",
    pinned: true,
  },
  "bench-kube-rs": {
    toolchain: CARGO,
    folder: "../../bench/peers/kube-rs",
    files: ["Cargo.toml", "Cargo.lock", "src/main.rs", "src/endpoint.rs"],
    pinned: true,
  },
  "bench-peer": { package: "bench/peer-controller-runtime", files: [...MODULE, "main.go"], pinned: true },
  "bench-remote": { package: "bench/mock", files: ["go.mod", "main.go"], pinned: true },
  glua: { package: "github.com/yuin/gopher-lua/cmd/glua", files: MODULE, pinned: false },
  helm: { package: "helm.sh/helm/v4/cmd/helm", files: MODULE, pinned: false },
  "helm-oldest": { package: "helm.sh/helm/v3/cmd/helm", files: MODULE, pinned: true },
  kstatus: { package: "mooring/tools/kstatus", files: [...MODULE, "main.go"], pinned: true },
  olm: {
    package: "github.com/operator-framework/operator-lifecycle-manager/cmd/olm",
    files: MODULE,
    pinned: true,
  },
  "operator-verify": { package: "github.com/operator-framework/api/cmd/operator-verify", files: MODULE, pinned: true },
  "otel-collector": { package: "mooring/tools/otel-collector", files: [...MODULE, "main.go"], pinned: true },
  prometheus: { package: "github.com/prometheus/prometheus/cmd/prometheus", files: MODULE, pinned: false },
  promtool: { package: "github.com/prometheus/prometheus/cmd/promtool", files: MODULE, pinned: false },
  versitygw: { package: "github.com/versity/versitygw/cmd/versitygw", files: MODULE, pinned: true },
} as const satisfies Record<string, Recipe>;

export type Tool = keyof typeof RECIPES;
/** What `npm run test:full` uses. The end-to-end test also uses `olm` and `operator-verify`. */
export const ALL_TOOLS: readonly Tool[] = [
  "glua",
  "helm",
  "helm-oldest",
  "kstatus",
  "otel-collector",
  "prometheus",
  "promtool",
  "versitygw",
];
/** What `npm run bench` uses besides the peers that `--peers` adds: the measuring program, a minimal remote service, and the same controller in Go. */
export const BENCH_TOOLS: readonly Tool[] = ["bench-driver", "bench-remote", "bench-peer"];

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The path of a tool: the machine's own, else the one that `prepareTools` built.
 * @throws Error when there is none. Nothing is built here: a build takes minutes, and a test does not.
 */
export async function tool(name: Tool, env: Env = process.env): Promise<string> {
  const path = await find(name, env);
  if (path === undefined) throw new Error(`${name} is not built: run node tools/programs/build.ts`);
  return path;
}

export function isTool(name: string): name is Tool {
  return Object.hasOwn(RECIPES, name);
}

/** Whether the machine has the tool, or it was built. */
export async function hasTool(name: Tool, env: Env = process.env): Promise<boolean> {
  return (await find(name, env)) !== undefined;
}

/**
 * Builds the tools that the machine does not have, one after the other, and keeps them in the user's cache folder.
 * @throws Error of one line that names the tool that cannot be built, and why; `log` has the lines before
 */
export async function prepareTools(
  names: readonly Tool[],
  log: (line: string) => void,
  env: Env = process.env,
): Promise<void> {
  for (const name of names) {
    const obstacle = await prepareTool(name, log, env);
    if (obstacle !== undefined) throw new Error(`the tests need ${name}: ${obstacle}`);
  }
}

/**
 * Builds a tool unless the machine has it. A build takes minutes, once. Several processes may do this at the same time: a tool is complete
 * or not there.
 * @returns one line that says why the tool cannot be built; `log` has the lines before
 */
export async function prepareTool(
  name: Tool,
  log: (line: string) => void,
  env: Env = process.env,
): Promise<string | undefined> {
  try {
    if ((await find(name, env)) === undefined) await build(name, log, env);
    return undefined;
  } catch (error) {
    const lines = (error instanceof Error ? error.message : String(error)).trim().split("\n");
    for (const line of lines.slice(0, -1)) log(line);
    return lines.at(-1);
  }
}

async function find(name: Tool, env: Env): Promise<string | undefined> {
  const recipe: Recipe = RECIPES[name];
  const own = recipe.pinned ? undefined : await findProgram(name, pathFolders(env.PATH));
  return own ?? (await findBuilt(name, await buildFolder(name, env)));
}

function findBuilt(name: Tool, folder: string): Promise<string | undefined> {
  const recipe: Recipe = RECIPES[name];
  return findProgram(("program" in recipe ? recipe.program : undefined) ?? name, [folder]);
}

/** `mooring/<tool>/<key>` in the user's cache folder; the key changes with the tool's files. */
async function buildFolder(name: Tool, env: Env): Promise<string> {
  return join(cacheFolder(env), "..", name, await buildKey(sourceFolder(name), RECIPES[name].files));
}

function sourceFolder(name: Tool): string {
  const recipe: Recipe = RECIPES[name];
  return fileURLToPath(new URL("folder" in recipe ? recipe.folder : name, import.meta.url));
}

async function build(name: Tool, log: (line: string) => void, env: Env): Promise<void> {
  const recipe: Recipe = RECIPES[name];
  const toolchain = "toolchain" in recipe ? recipe.toolchain : goToolchain(recipe.package);
  const program = await findProgram(toolchain.program, pathFolders(env.PATH));
  if (program === undefined) {
    throw new Error(`there is no ${toolchain.program} on PATH to build it with (${toolchain.site})`);
  }
  log(`building ${name}: some minutes, once (kept in the user's cache folder)`);
  const built = await fillWith(
    await buildFolder(name, env),
    (folder) => findBuilt(name, folder),
    (output, guarded) => toolchain.build({ name, program, source: sourceFolder(name), output, guarded, log }),
  );
  if (built === undefined) throw new Error(`${toolchain.program} left no program`);
}
