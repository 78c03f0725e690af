import { readFileSync } from "node:fs";

/** Whether a command is asked what it does. */
export function asksForHelp(args: readonly string[]): boolean {
  return args.includes("--help") || args.includes("-h");
}

/** The comment that a program begins with. */
export function helpOf(program: string): string {
  const [, comment = ""] = /^\/\*\*\n(.*?)\n \*\//s.exec(readFileSync(program, "utf8")) ?? [];
  return comment.replaceAll(/^ \* ?/gm, "");
}
