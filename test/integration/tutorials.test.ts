import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../../tools/cluster/wait-until.ts";
import { type Demo, startDemo } from "../support/demo.ts";
import { fencedBlocks } from "../support/markdown.ts";
import { projectRoot } from "../support/pages.ts";
import { type Ended, run } from "../support/run.ts";

let demo: Demo;
let env: Record<string, string>;
let folder: string;

beforeAll(async () => {
  demo = await startDemo({ borrow: false, args: ["--keep"] });
  const ready = async () => /stays up until Ctrl-C[\s\S]*\n {2}kubectl/.test(demo.output());
  await waitUntil("the demo stays up", ready, { timeoutMs: 240_000, intervalMs: 200 }).catch((error) => {
    throw new Error(`${error}\n${demo.output()}`);
  });
  // What the reader types in the second terminal.
  const line = (start: string) => new RegExp(`^ {2}${start}.*$`, "m").exec(demo.output())?.[0]?.trim() ?? ":";
  const setUp = `${line("export KUBECONFIG=")}; echo "$KUBECONFIG"; echo "$PATH"`;
  const { stdout } = await run("/bin/bash", ["-c", `cd '${projectRoot}'; ${setUp}`]);
  const [kubeconfig = "", path = ""] = stdout.split("\n");
  folder = await mkdtemp(join(tmpdir(), "mooring-tutorials-"));
  const [, kubectl = "kubectl"] = /alias kubectl=(\S+)/.exec(line("alias kubectl=")) ?? [];
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin/kubectl"), `#!/bin/sh\nPATH=$REST exec ${kubectl} "$@"\n`, { mode: 0o755 });
  env = { KUBECONFIG: kubeconfig, PATH: `${join(folder, "bin")}:${path}`, REST: path };
});
afterAll(async () => {
  demo.child.kill("SIGINT");
  await demo.ended;
  await rm(demo.folder, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

const shell = (script: string): Promise<Ended> =>
  run("/bin/bash", ["-e", "-o", "pipefail", "-c", `cd '${folder}'\n${script}`], { env });

/**
 * Does what the page says, from top to bottom: saves each manifest under the name that the text before it gives, and runs the commands.
 * Returns what the blocks of commands print. Commands that end with Ctrl-C get it after a few seconds. `mooring plan` may exit with 2, which
 * says that an apply changes something.
 */
async function follow(tutorial: string, fill: (manifest: string) => Promise<string> = async (text) => text) {
  const page = await readFile(join(projectRoot, "docs/tutorials", `${tutorial}.md`), "utf8");
  const lines = page.split("\n");
  const outputs: string[] = [];
  for (const { language, body, line } of fencedBlocks(page)) {
    const before = lines.slice(0, line - 1).join("\n");
    const after = lines.slice(line).join("\n").split("```")[1]?.split("\n\n").slice(0, 2).join(" ") ?? "";
    const isShell = language === "sh" || /^(printf|for) /.test(body);
    if (language === "yaml") {
      const name = [...before.matchAll(/as `([\w-]+\.yaml)`/g)].at(-1)?.[1] ?? "";
      expect(name, `${tutorial}.md:${line}: the text names the file`).not.toBe("");
      await writeFile(join(folder, name), await fill(body));
    } else if (isShell && !body.includes("git clone")) {
      const planned = body.replace(/^(mooring plan .*)$/m, "$1 || [ $? = 2 ]");
      const script = after.includes("Ctrl-C to end the wait")
        ? planned.replace(/^(mooring say .*)$/m, "timeout --signal=INT 15 $1 || true")
        : planned;
      const { code, stdout, stderr } = await shell(script);
      expect({ code, stderr: code === 0 ? "" : stderr }, `${tutorial}.md:${line}: ${body}`).toEqual({
        code: 0,
        stderr: "",
      });
      outputs.push(stdout + stderr);
    }
  }
  return outputs;
}

it("the first endpoint is created, changed and deleted as the tutorial says", async () => {
  const [look = "", create = "", change = "", remove = ""] = await follow("first-endpoint");
  expect(look).toContain("none needs you");
  expect(create).toContain("create an endpoint");
  expect(create).toMatch(/^mine +True +Serving .*https:\/\//m);
  expect(change).toContain("workers.max");
  expect(change).toContain("workers.min");
  expect(remove).toMatch(/ mine-\w+ .* 0 \(0-0\) /);
});

it("the first audiobook is paid for once", async () => {
  const outputs = await follow("first-audiobook");
  expect(outputs.join("\n")).toContain("2 to submit");
  for (const name of ["chapter-1.mp3", "chapter-2.mp3", "end.mp3", "again.mp3"]) {
    expect(await readdir(folder)).toContain(name);
  }
  expect(outputs.at(-2)).toMatch(/chapter-1 unchanged[\s\S]* 0 to submit/);
  expect(outputs.at(-1)?.match(/^cli-speechjob-/gm)).toHaveLength(1);
});

it("an audiobook in one manifest ends with files, and a new paragraph alone is paid for", async () => {
  const outputs = await follow("audiobook-in-one-manifest");
  expect(outputs.join("\n")).toMatch(/^story +40\/40 +Completed/m);
  expect(outputs.join("\n")).toContain("p-001.mp3");
  expect(outputs.at(-1)).toContain("paid for: 1");
});

it("a team waits for its budget, and another one is refused", async () => {
  const address = async (manifest: string) => {
    const { stdout } = await shell("kubectl get clusteraccount default -o jsonpath='{.spec.baseURL}'");
    return manifest.replace("http://127.0.0.1:8090", stdout);
  };
  const outputs = await follow("team-with-a-budget", address);
  const waits = outputs.find((output) => output.includes("SpeechJob film/trailer")) ?? "";
  expect(waits).toMatch(/Pending \(BudgetExceeded\)[\s\S]*of 0\.5 yuan/);
  expect(outputs.join("\n")).toMatch(/^film +True .* \d+\.\d+ /m);
  expect(outputs.at(-1)).toContain("NamespaceNotAllowed");
  expect(await readdir(folder)).not.toContain("hello.mp3");
});
