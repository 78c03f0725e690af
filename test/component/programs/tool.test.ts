import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { prepareTools, tool } from "../../../tools/programs/tool.ts";

/** A go that writes its `-o` file after a moment, or fails. */
const GO = `#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" = -o ] && output=$2; shift; done
sleep 0.2
printf '#!/bin/sh\\necho built\\n' > "$output.partial"
chmod +x "$output.partial"
mv "$output.partial" "$output"
`;
const FAILING_GO = "#!/bin/sh\necho 'go: downloading a'\necho 'main.go:1: no such module' >&2\nexit 1\n";

/** An environment with an empty cache, whose PATH has a go with this text and nothing else of the tools. */
async function machine(go?: string) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-tools-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "bin"));
  if (go !== undefined) {
    await writeFile(join(folder, "bin/go"), go);
    await chmod(join(folder, "bin/go"), 0o755);
  }
  const lines: string[] = [];
  return {
    env: { PATH: `${join(folder, "bin")}:/bin:/usr/bin`, XDG_CACHE_HOME: join(folder, "cache") },
    log: (line: string) => void lines.push(line),
    lines,
  };
}

test("a test that uses a tool never builds it: the error says what does", async () => {
  const { env } = await machine(GO);
  await expect(tool("glua", env)).rejects.toThrow(/^glua is not built: run node tools\/programs\/build\.ts$/);
});

test("a tool is built once, with a line that says so", async () => {
  const { env, log, lines } = await machine(GO);
  await prepareTools(["glua", "kstatus"], log, env);
  expect(lines.map((line) => line.split(":")[0])).toEqual(["building glua", "building kstatus"]);
  await prepareTools(["glua", "kstatus"], log, env);
  expect(lines).toHaveLength(2);
  expect(await tool("glua", env)).toMatch(/\/glua$/);
});

test("processes that build the same tool at once get one complete program, and nothing is left over", async () => {
  const { env, log } = await machine(GO);
  await Promise.all([1, 2, 3].map(() => prepareTools(["glua"], log, env)));
  const path = await tool("glua", env);
  expect(await readdir(dirname(dirname(path)))).toHaveLength(1);
  expect(await readdir(dirname(path))).toEqual(["glua"]);
});

test.each([
  { what: "no go", go: undefined, reason: "there is no go on PATH to build it with (https://go.dev/dl)" },
  { what: "a build that fails", go: FAILING_GO, reason: "main.go:1: no such module" },
])("$what is one line that names the tool", async ({ go, reason }) => {
  const { env, log } = await machine(go);
  // /usr/bin may have a go of its own.
  const own = { ...env, PATH: env.PATH.split(":")[0] ?? "" };
  const search = go === undefined ? own : env;
  await expect(prepareTools(["glua"], log, search)).rejects.toThrow(`the tests need glua: ${reason}`);
  await expect(prepareTools(["glua"], log, search)).rejects.not.toThrow(/\n/);
});
