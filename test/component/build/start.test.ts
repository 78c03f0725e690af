import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";
import { beforeAll, expect, it } from "vitest";
import { commandOptions, operatorOptions } from "../../../scripts/bundle-options.ts";
import { NODE_FLAGS } from "../../../scripts/node-flags.ts";

const absWorkingDir = fileURLToPath(new URL("../../..", import.meta.url));
const ENTRY = "dist/mooring.mjs";
/** What a command loads before it does anything. Each further library has to be worth its time at each start. */
const MAX_BYTES = 1_950_000;

let outputs: Metafile["outputs"];
beforeAll(async () => {
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

it("the image starts Node as the bundle's first line does", async () => {
  const dockerfile = await readFile(new URL("../../../Dockerfile", import.meta.url), "utf8");
  const [, entrypoint = "[]"] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(entrypoint).slice(1, -1)).toEqual(NODE_FLAGS);
});

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
