import { describe, expect, it } from "vitest";
import { DEFAULT_EXIT_CODES, EXIT_CODES } from "../../../../../src/cli/exit-codes.ts";
import { createProgram } from "../../../../../src/cli/program.ts";
import { candidates, visibleCommands } from "../../../../../src/cli/use/completion/candidates.ts";

const program = await createProgram();
const complete = (...words: string[]) => candidates(program, words).map(({ value }) => value);

describe("completion", () => {
  it.each<[string[], string[]]>([
    [["sta"], ["status"]],
    [
      ["status", "-o", ""],
      ["table", "wide", "json", "yaml", "name"],
    ],
    [["status", "--output", "y"], ["yaml"]],
    [["status", "--stu"], ["--stuck"]],
    [["explain", "speech"], ["speechjob/"]],
    [
      ["resolve", ""],
      ["speechjob/", "videojob/"],
    ],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
    [["say", "Ahoy", "--model", "speech-2.6-t"], ["speech-2.6-turbo"]],
  ])("of %j is %j", (words, expected) => {
    expect(complete(...words)).toEqual(expected);
  });

  it.each([
    [["plan", "-f", ""]],
    [["validate", "man"]],
    [["status", "--kubeconfig", "/et"]],
    [["no-such-command", ""]],
  ])("of %j leaves names of files to the shell, or has nothing", (words) => {
    expect(complete(...words).filter((value) => !visibleCommands(program).some((one) => one.name() === value))).toEqual(
      [],
    );
  });

  it("lists every command but the hidden one", () => {
    expect(complete("")).toContain("resolve");
    expect(complete("").filter((name) => name.startsWith("_"))).toEqual([]);
  });
});

describe("the help of each command", () => {
  const commands = visibleCommands(program).map((command) => ({ name: command.name(), command }));

  it.each(commands)("of $name has examples and exit codes", ({ command, name }) => {
    let text = "";
    command.configureOutput({
      writeOut: (part) => {
        text += part;
      },
    });
    command.outputHelp();
    expect(text).toMatch(/\nExamples:\n {2}\S/);
    expect(text).toContain("\nExit codes:\n");
    for (const code of Object.keys(EXIT_CODES[name] ?? DEFAULT_EXIT_CODES)) {
      expect(text).toMatch(new RegExp(`^ {2}${code} +\\S`, "m"));
    }
  });

  it("every command in the table of exit codes exists", () => {
    const names = commands.map(({ name }) => name);
    expect(Object.keys(EXIT_CODES).filter((name) => !names.includes(name))).toEqual([]);
  });
});
