/** What the tests of the documentation read in a page. */
export type Block = { language: string; body: string /** Line of the fence, from 1. */; line: number };

/** The fenced blocks of a page, those in lists with their indentation taken off. */
export function fencedBlocks(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { indent: string; language: string; line: number; lines: string[] } | undefined;
  for (const [index, text] of page.split("\n").entries()) {
    const [, indent = "", language = ""] = /^( *)```(\w*)$/.exec(text) ?? [undefined];
    const fence = /^ *```\w*$/.test(text);
    if (open === undefined) {
      if (fence) open = { indent, language, line: index + 1, lines: [] };
    } else if (fence) {
      blocks.push({ language: open.language, body: `${open.lines.join("\n")}\n`, line: open.line });
      open = undefined;
    } else {
      open.lines.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text);
    }
  }
  if (open !== undefined) throw new Error(`the block of line ${open.line} has no end`);
  return blocks;
}

export type ShellCommand = {
  /** `mooring` stands for the bundle, however it is started. */
  program: string;
  /** Everything after the program. */
  text: string;
  /** Words that are no flags, in order. */
  args: string[];
  /** Names of the flags, without values. */
  flags: string[];
};

/** The commands in a block of shell: one per line, and per part of a pipe or an `&&`. */
export function commandsIn(shell: string): ShellCommand[] {
  return shell
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "")
    .flatMap(parts)
    .map((all) => {
      // Variables before a command are its environment.
      const words = all.slice(all.findIndex((word) => !/^[A-Z][A-Z_0-9]*=/.test(word)));
      const bundle = words.findIndex((word) => word.endsWith("mooring.mjs"));
      const [program = "", ...rest] = bundle < 0 ? words : ["mooring", ...words.slice(bundle + 1)];
      const own = rest.includes("--") ? rest.slice(0, rest.indexOf("--")) : rest;
      return {
        program,
        text: rest.join(" "),
        args: own.filter((word) => !word.startsWith("-")),
        flags: own.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split("=")[0] ?? word),
      };
    });
}

/** Words of each command of a line; quotes hold words together, and are kept off. */
function parts(line: string): string[][] {
  const commands: string[][] = [[]];
  for (const [, word = ""] of line.matchAll(/((?:'[^']*'|"[^"]*"|[^\s'"])+)/g)) {
    if (word === "|" || word === "&&") commands.push([]);
    else commands.at(-1)?.push(word.replaceAll(/['"]/g, ""));
  }
  return commands;
}
