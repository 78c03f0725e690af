import type { Command } from "commander";
import { expect, it } from "vitest";
import { createIndex, createProgram } from "../../../src/cli/program.ts";

/** The help of a command, with what was added to it. */
function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}

/** The command lines under `Examples:`, without what describes them, other programs and redirections. */
function examplesOf(help: string): string[] {
  const [, list = ""] = /^Examples:\n((?: {2}.*\n)+)/m.exec(help) ?? [];
  return list
    .split("\n")
    .flatMap((line) => / *(?:.*[|(] *)?mooring (.*)/.exec(line)?.[1] ?? [])
    .map((line) => line.replace(/ {2,}.*$|[)'].*$| [<>|] .*$/g, ""));
}

const wordsOf = (line: string) =>
  (line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^["']|["']$/g, ""));

const names = (await createProgram()).commands.map((command) => command.name());

it.each(names)("every example in the help of %s is a command line that it accepts", async (name) => {
  const program = await createProgram();
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  const examples = examplesOf(helpOf(command));
  expect(examples, "begins with the name of a command").toEqual(
    examples.filter((line) => names.includes(line.split(" ")[0] ?? "")),
  );
  for (const example of examples) {
    const fresh = await createProgram();
    const errors: string[] = [];
    for (const each of [fresh, ...fresh.commands]) {
      each.exitOverride().configureOutput({ writeErr: (text) => errors.push(text) });
      each.action(() => {});
    }
    await fresh.parseAsync(wordsOf(example), { from: "user" }).catch(() => undefined);
    expect(errors, `mooring ${example}`).toEqual([]);
  }
});

it("finds the examples", async () => {
  const program = await createProgram();
  const count = program.commands.flatMap((command) => examplesOf(helpOf(command))).length;
  expect(count).toBeGreaterThan(20);
});

it("the list of all commands is the same without loading them", async () => {
  const list = helpOf(createIndex("kubectl mooring"));
  expect(list).toBe(helpOf(await createProgram("kubectl mooring")));
  expect(list.split("\n").length).toBeGreaterThan(25);
});
