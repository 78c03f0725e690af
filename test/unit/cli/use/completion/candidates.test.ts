import { describe, expect, it } from "vitest";
import { DEFAULT_EXIT_CODES, EXIT_CODES } from "../../../../../src/cli/exit-codes.ts";
import { createProgram } from "../../../../../src/cli/program.ts";
import { candidates, type NameLookup, visibleCommands } from "../../../../../src/cli/use/completion/candidates.ts";

const program = await createProgram();
const asked: string[] = [];
/** A cluster in which each kind has two objects. */
const names: NameLookup = async ({ kind }, flags) => {
  asked.push(`${kind} in ${flags.get("--namespace") ?? "the context"}`);
  return ["one", "two"].map((name) => `${kind.toLowerCase()}-${name}`);
};
const complete = async (...words: string[]) => (await candidates(program, words, names)).map(({ value }) => value);

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
    [
      ["explain", "speechjob/"],
      ["speechjob/speechjob-one", "speechjob/speechjob-two"],
    ],
    [
      ["explain", "gpuep", ""],
      ["gpuendpoint-one", "gpuendpoint-two"],
    ],
    [["logs", "gpuendpoint-t"], ["gpuendpoint-two"]],
    [["status", "speechj"], ["speechjobs"]],
    [
      ["say", "Ahoy", "--account", ""],
      ["account-one", "account-two"],
    ],
    [["explain", "-n", "namespace-t"], ["namespace-two"]],
  ])("of %j is %j", async (words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });

  it("looks for names in the namespace of the command line", async () => {
    asked.length = 0;
    await complete("explain", "-n", "team", "videojob/");
    expect(asked).toEqual(["VideoJob in team"]);
  });

  it.each([
    [["plan", "-f", ""]],
    [["validate", "man"]],
    [["status", "--kubeconfig", "/et"]],
    [["no-such-command", ""]],
  ])("of %j leaves names of files to the shell, or has nothing", async (words) => {
    expect(
      (await complete(...words)).filter((value) => !visibleCommands(program).some((one) => one.name() === value)),
    ).toEqual([]);
  });

  it("lists every command but the hidden one", async () => {
    expect(await complete("")).toContain("resolve");
    expect((await complete("")).filter((name) => name.startsWith("_"))).toEqual([]);
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
