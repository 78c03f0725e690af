import { chmod, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { type Ended, run } from "../../support/run.ts";
import { API_KEY, BUNDLE } from "../../support/world.ts";
import type { Scene, Stage } from "./stage.ts";

/** What `mooring explain` prints of a stuck object, and the commands that resolve it, for the page. */
export type Outputs = { explain: string; commands: string[] };

/** Width of the page's blocks, in characters: that of `mooring explain`. */
const WIDTH = 100;

export const conditionOf = ({ condition = "Stalled" }: Scene): string => condition;
export const worldOf = (stage: Stage, { world }: Scene) => stage[world ?? "world"];

/** Runs command lines of the page as a user's shell does. */
export async function createShell(stage: Stage) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-shell-"));
  stage.onClose(() => rm(folder, { recursive: true, force: true }));
  await symlink(inject("kubectl"), join(folder, "kubectl"));
  await writeFile(join(folder, "mooring"), `#!/bin/sh\nexec "${process.execPath}" "${BUNDLE}" "$@"\n`);
  await chmod(join(folder, "mooring"), 0o755);
  const env = { PATH: `${folder}:${process.env["PATH"]}`, KUBECONFIG: inject("kubeconfig") };

  return (scene: Scene, line: string): Promise<Ended> => {
    const real = line
      .replaceAll("team-a", worldOf(stage, scene).namespace)
      .replaceAll("YOUR-KEY", API_KEY)
      .replaceAll("YOUR-SECRET", stage.s3.secretAccessKey)
      .replaceAll("YOUR-TOKEN", "token");
    return run("/bin/sh", ["-c", real], { env });
  };
}

/** Whether the condition of the scene, as `kubectl describe` prints it, has its reason. */
export function describesReason(scene: Scene, output: string): boolean {
  const block = output
    .split(/^ +Last Transition Time: .*\n/m)
    .find((one) => new RegExp(`^ +Type: +${conditionOf(scene)}$`, "m").test(one));
  return new RegExp(`^ +Reason: +${scene.reason}$`, "m").test(block ?? "");
}

/** What `mooring explain` prints before the history. */
export function explainExcerpt(stage: Stage, output: string): string {
  const [text = ""] = output.split("\nHistory\n");
  const [head = "", ...sections] = text.trimEnd().split("\n\n");
  const [title = "", ...message] = head.split("\n");
  const parts = [
    `${readable(stage, title).replace(/, for \w+$/, ", for 1m")}\n${wrapped("  ", readable(stage, message.map((line) => line.trim()).join(" ")), "  ")}`,
    ...sections.map((section) => readable(stage, section)),
  ];
  return parts.join("\n\n");
}

/** A text with the names, addresses, identifiers and times of the page. */
export function readable({ world, guarded, artifactRoot, replaced }: Stage, text: string): string {
  const names = new Map([...replaced, [artifactRoot, "/artifacts"]]);
  const named = [...names].reduce((result, [real, shown]) => result.replaceAll(real, shown), text);
  return named
    .replaceAll(world.namespace, "team-a")
    .replaceAll(guarded.namespace, "team-a")
    .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "6f1c07f2-3a51-4c8e-9a43-5b0c7f6f2d10")
    .replaceAll(/\b(?!0123456789abcdef)[0-9a-f]{16}\b/g, "a8c3b7cf3c25632b")
    .replaceAll(/\b[0-9a-f]{32}\b/g, "ff49b6f772632716c43069c43a8c3b7c")
    .replaceAll(/\b[0-9a-f]{24}\b/g, "f3c25632b92409d3fb64afeb")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (time) => (isOfTheRun(time) ? "2026-11-22T20:46:54Z" : time));
}

/** Whether a time is not one of a manifest. */
const isOfTheRun = (time: string) => Math.abs(Date.parse(time) - Date.now()) < 2 * 86_400_000;

/** The text after `first` in lines of at most `WIDTH` characters; further lines begin with `indent`. */
function wrapped(first: string, text: string, indent: string): string {
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(" ")) {
    const isEmpty = line === first || line === indent;
    if (isEmpty) line += word;
    else if (line.length + word.length < WIDTH) line += ` ${word}`;
    else {
      lines.push(line);
      line = indent + word;
    }
  }
  return [...lines, line].join("\n");
}
