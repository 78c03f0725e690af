import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram, pathFolders } from "../cluster/binaries.ts";
import { buildKey, cacheFolder, fillWith } from "../cluster/cache.ts";
import type { Guarded } from "../cluster/guarded.ts";
import { withProgress } from "../cluster/progress.ts";

type Recipe = {
  /** The Go package; a folder named after the tool pins its module. */
  package: string;
  /** Files of that folder that decide what is built. */
  files: readonly string[];
  /** The tool of the machine will not do: tests need this very version, or it is our own program. */
  pinned: boolean;
};

const MODULE = ["go.mod", "go.sum"];
/** Programs that tests use besides the control plane. */
const RECIPES = {
  "bench-driver": { package: "bench/driver", files: [...MODULE, "main.go"], pinned: true },
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
/** What `npm test` uses. The end-to-end test also uses `olm` and `operator-verify`. */
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
/** What `npm run bench` uses: the measuring program, a minimal remote service, and the same controller in Go. */
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

/**
 * Builds the tools that the machine does not have from their Go modules, one after the other, and keeps them in the user's cache folder.
 * A build takes minutes, once. Several processes may do this at the same time: a tool is complete or not there.
 * @throws Error of one line that names the tool that cannot be built, and why; `log` has the lines before
 */
export async function prepareTools(
  names: readonly Tool[],
  log: (line: string) => void,
  env: Env = process.env,
): Promise<void> {
  for (const name of names) {
    if ((await find(name, env)) !== undefined) continue;
    await build(name, log, env).catch((error: unknown) => {
      const lines = (error instanceof Error ? error.message : String(error)).trim().split("\n");
      for (const line of lines.slice(0, -1)) log(line);
      throw new Error(`the tests need ${name}: ${lines.at(-1)}`);
    });
  }
}

async function find(name: Tool, env: Env): Promise<string | undefined> {
  const own = RECIPES[name].pinned ? undefined : await findProgram(name, pathFolders(env.PATH));
  return own ?? (await findProgram(name, [await buildFolder(name, env)]));
}

/** `mooring/<tool>/<key>` in the user's cache folder; the key changes with the tool's module. */
async function buildFolder(name: Tool, env: Env): Promise<string> {
  return join(cacheFolder(env), "..", name, await buildKey(moduleFolder(name), RECIPES[name].files));
}

const moduleFolder = (name: Tool) => fileURLToPath(new URL(`./${name}`, import.meta.url));

async function build(name: Tool, log: (line: string) => void, env: Env): Promise<void> {
  const go = await findProgram("go", pathFolders(env.PATH));
  if (go === undefined) throw new Error("there is no go on PATH to build it with (https://go.dev/dl)");
  log(`building ${name}: some minutes, once (kept in the user's cache folder)`);
  const built = await fillWith(
    await buildFolder(name, env),
    (folder) => findProgram(name, [folder]),
    (empty, guarded) => compile({ name, go, log }, join(empty, name), guarded),
  );
  if (built === undefined) throw new Error("go build left no program");
}

type Compilation = { name: Tool; go: string; log: (line: string) => void };

async function compile({ name, go, log }: Compilation, output: string, guarded: Guarded): Promise<void> {
  const env = { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly", GOWORK: "off", GOTMPDIR: guarded.dir };
  const args = ["build", "-v", "-trimpath", "-ldflags", "-s -w", "-o", output, RECIPES[name].package];
  const lines = async () => (await guarded.output("go-build")).split("\n").length - 1;
  await withProgress(
    log,
    async () => `building ${name}: ${await lines()} modules and packages so far`,
    guarded.run("go-build", go, args, { cwd: moduleFolder(name), env }),
  );
}
