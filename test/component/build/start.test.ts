import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";
import { beforeAll, expect, it } from "vitest";
import { commandOptions, operatorOptions } from "../../../scripts/bundle-options.ts";
import { COMPILE_FLAGS, NODE_FLAGS } from "../../../scripts/node-flags.ts";
import { run } from "../../support/run.ts";

const absWorkingDir = fileURLToPath(new URL("../../..", import.meta.url));
const ENTRY = "dist/mooring.mjs";
/** What a command loads before it does anything. Each further library has to be worth its time at each start. */
const MAX_BYTES = 1_950_000;

let dockerfile: string;
let outputs: Metafile["outputs"];
beforeAll(async () => {
  dockerfile = await readFile(join(absWorkingDir, "Dockerfile"), "utf8");
  const built = [commandOptions, operatorOptions].map((options) => build({ ...options, absWorkingDir, write: false }));
  outputs = Object.assign({}, ...(await Promise.all(built)).map(({ metafile }) => metafile.outputs));
});

/** The files that are loaded with `path`, and those that it imports on demand. */
function loadedWith(path: string): { loaded: Set<string>; onDemand: Set<string> } {
  const loaded = new Set([path]);
  const onDemand = new Set<string>();
  for (const file of loaded) {
    for (const { path: imported, kind } of outputs[file]?.imports ?? []) {
      if (outputs[imported] !== undefined) (kind === "dynamic-import" ? onDemand : loaded).add(imported);
    }
  }
  return { loaded, onDemand };
}

/** The source files of outputs, with their sizes in the bundle. */
function sourcesOf(files: Iterable<string>): [string, number][] {
  const inputs = [...files].flatMap((file) => Object.entries(outputs[file]?.inputs ?? {}));
  return inputs.map(([path, { bytesInOutput }]) => [path, bytesInOutput]);
}

it("the entry loads nothing but itself, so that an old Node can say which Node is needed", () => {
  expect([...loadedWith(ENTRY).loaded]).toEqual([ENTRY]);
  expect(sourcesOf([ENTRY]).map(([path]) => path)).toEqual(["src/main.ts"]);
});

it("the image starts Node as the bundle's first line does", () => {
  const [, entrypoint = "[]"] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(entrypoint).slice(1, -1)).toEqual(NODE_FLAGS);
});

it("the image has the compile cache that it names", () => {
  const [, cache = ""] = /^ENV .*NODE_COMPILE_CACHE=(\S+)/m.exec(dockerfile) ?? [];
  expect(dockerfile).toContain(
    `node ${COMPILE_FLAGS.join(" ")} /scripts/compile-cache.ts /app/mooring.mjs /out${cache} `,
  );
});

it("V8 accepts what Node's build compiled, as without flags", async () => {
  const tag = "process.getBuiltinModule('node:v8').cachedDataVersionTag()";
  const { stdout: without } = await run(process.execPath, ["--print", tag]);
  const atExit = `data:text/javascript,process.once("exit",()=>console.error(${tag}))`;
  const args = [...NODE_FLAGS, `--import=${atExit}`, join(absWorkingDir, "src/main.ts"), "--version"];
  const { stderr } = await run(process.execPath, args);
  expect(stderr).toBe(without);
});

it("a compile cache is the same each time, and V8 accepts all of it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-compile-cache-"));
  try {
    for (const options of [commandOptions, operatorOptions]) {
      await build({ ...options, absWorkingDir, outdir: join(folder, "app") });
    }
    const entry = join(folder, "app/mooring.mjs");
    const script = join(absWorkingDir, "scripts/compile-cache.ts");
    const [cache, again] = [join(folder, "cache"), join(folder, "again")];
    for (const to of [cache, again]) {
      const ended = await run(process.execPath, [...COMPILE_FLAGS, script, entry, to]);
      expect(ended).toEqual({ code: 0, stdout: "", stderr: "" });
    }
    const files = await contentsOf(cache);
    expect(files.size).toBeGreaterThan(10);
    expect(differencesOf(files, await contentsOf(again))).toEqual([]);

    const env = { NODE_COMPILE_CACHE: cache, NODE_DEBUG_NATIVE: "COMPILE_CACHE" };
    const { stdout, stderr } = await run(process.execPath, [...NODE_FLAGS, entry, "operator", "--help"], { env });
    const lines = `${stdout}${stderr}`
      .split("\n")
      .filter((line) => line.startsWith("[compile cache] V8 code cache for"));
    const unused = lines.filter((line) => !line.includes("was accepted"));
    expect(unused).toEqual([expect.stringContaining("app/mooring.mjs was not initialized")]);
    expect(lines.filter((line) => line.includes("app/operator.mjs was accepted"))).toHaveLength(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** The files below a folder, by path. */
async function contentsOf(folder: string): Promise<Map<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(paths.map(async (path) => [relative(folder, path), await readFile(path)] as const)));
}

/** Where files differ: the path, both sizes and the first offsets. V8 writes the number of a script at many of them. */
function differencesOf(files: Map<string, Buffer>, others: Map<string, Buffer>) {
  return [...new Set([...files.keys(), ...others.keys()])].flatMap((path) => {
    const [one, other] = [files.get(path), others.get(path)];
    if (one !== undefined && other?.equals(one) === true) return [];
    const offsets = [...(one ?? [])].flatMap((byte, at) => (byte === other?.[at] ? [] : [at]));
    return [{ path, sizes: [one?.length, other?.length], offsets: offsets.slice(0, 20), count: offsets.length }];
  });
}

const commands = [
  ["operator", "operate"],
  ["status", "use"],
] as const;

it.each(commands)("mooring %s loads no library that it does not need", (command, folder) => {
  const [program = ""] = [...loadedWith(ENTRY).onDemand];
  const { loaded, onDemand } = loadedWith(program);
  const entry = `src/cli/${folder}/${command}.ts`;
  const own = [...onDemand, "dist/operator.mjs"].find((path) => outputs[path]?.entryPoint === entry);
  expect(own).toBeDefined();
  const sources = sourcesOf(new Set([...loaded, ...loadedWith(own ?? "").loaded]));
  const bytes = sources.reduce((sum, [, size]) => sum + size, 0);
  expect(bytes).toBeLessThan(MAX_BYTES);
  const needless = [
    /node_modules\/@aws-sdk\//,
    /node_modules\/@kubernetes\/client-node\//,
    /node_modules\/fastify\//,
    // prom-client loads the API, which is small.
    /node_modules\/@opentelemetry\/(?!api\/)/,
    /node_modules\/undici\/lib\/(mock|cache|interceptor)\//,
    /node_modules\/undici\/lib\/web\/(websocket|eventsource|cookies|cache)\//,
    /node_modules\/zod\/v4\/locales\/(?!en\.js)/,
  ];
  const found = sources.filter(([path, size]) => size > 0 && needless.some((pattern) => pattern.test(path)));
  expect(found.map(([path]) => path)).toEqual([]);
});
