import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { COMPLETION_SCRIPTS } from "../../../../../src/cli/use/completion/scripts.ts";

const main = fileURLToPath(new URL("../../../../../src/main.ts", import.meta.url));

/** A folder with `mooring` and the names under which kubectl runs it. */
async function installed(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-completion-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "mooring"), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  await chmod(join(folder, "mooring"), 0o755);
  for (const name of ["kubectl-mooring", "kubectl_complete-mooring"]) await symlink(main, join(folder, name));
  return folder;
}

async function bash(script: string, folder: string): Promise<string> {
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env["PATH"]}` };
  const { stdout } = await promisify(execFile)("bash", ["-c", script], { env });
  return stdout;
}

describe("the bash script, when it is sourced", () => {
  const complete = async (words: readonly string[]) => {
    const list = words.map((word) => `'${word}'`).join(" ");
    const folder = await installed();
    await writeFile(join(folder, "script"), COMPLETION_SCRIPTS.bash);
    const script = `source '${join(folder, "script")}'
complete -p mooring
COMP_WORDS=(${list}); COMP_CWORD=${words.length - 1}; _mooring 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const [declared, ...found] = (await bash(script, folder)).trim().split("\n");
    expect(declared).toBe("complete -o default -F _mooring mooring");
    return found;
  };

  it("completes commands", async () => expect(await complete(["mooring", "res"])).toEqual(["resolve"]));
  it("completes the values of a flag", async () =>
    expect(await complete(["mooring", "status", "-o", "w"])).toEqual(["wide"]));
  it("leaves names of files to bash", async () => expect(await complete(["mooring", "plan", "-f", "x"])).toEqual([]));
});

it.each(["zsh", "fish"] as const)("the script of %s asks the same command", (shell) => {
  expect(COMPLETION_SCRIPTS[shell]).toContain("mooring __complete -- ");
});

describe("as a plugin of kubectl", () => {
  const node = (folder: string, name: string, ...args: string[]) =>
    promisify(execFile)(process.execPath, [join(folder, name), ...args]);

  it("its help names it as users call it", async () => {
    const { stdout } = await node(await installed(), "kubectl-mooring", "status", "--help");
    expect(stdout).toMatch(/^Usage: kubectl mooring status /);
  });

  it("kubectl gets completions in the form of cobra", async () => {
    const { stdout } = await node(await installed(), "kubectl_complete-mooring", "explain", "video");
    expect(stdout).toMatch(/^videojob\/\t.*\n:0\n$/);
  });
});
