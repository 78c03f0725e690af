import type { Command, Option } from "commander";
import { JOB_RESOURCES, KINDS } from "../../../api/v1alpha1/kinds.ts";

/** A word that can stand where the last word of a command line stands. */
export type Candidate = { value: string; description: string };

/**
 * What completes the last word. `words` are those after the name of the program; the last one is as far as it is typed, ""
 * for a new word. None: the shell completes names of files.
 */
export function candidates(program: Command, words: readonly string[]): Candidate[] {
  const partial = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const command = program.commands.find((one) => one.name() === firstArgument(program, before));
  const matching = (all: readonly Candidate[]) => all.filter(({ value }) => value.startsWith(partial));

  const options = optionsOf(command ?? program);
  const [flag = ""] = before.slice(-1);
  const asked = options.find((option) => [option.short, option.long].includes(flag));
  if (asked !== undefined && (asked.required || asked.optional)) return matching(plain(asked.argChoices ?? []));
  if (partial.startsWith("-")) {
    return matching(options.flatMap(({ long, description }) => (long ? [{ value: long, description }] : [])));
  }
  return matching(command === undefined ? commandsOf(program) : argumentsOf(command));
}

/** The first word that is no option and no argument of one. */
function firstArgument(program: Command, words: readonly string[]): string | undefined {
  return words.find((word, index) => {
    const option = optionsOf(program).find(({ long, short }) => [short, long].includes(words[index - 1]));
    return !word.startsWith("-") && option?.required !== true;
  });
}

function optionsOf(command: Command): readonly Option[] {
  return command.createHelp().visibleOptions(command);
}

/** Also what the generated pages list: `help` is a command of commander's own. */
export function visibleCommands(program: Command): Command[] {
  return program
    .createHelp()
    .visibleCommands(program)
    .filter((one) => one.name() !== "help");
}

function commandsOf(program: Command): Candidate[] {
  return visibleCommands(program).map((one) => ({ value: one.name(), description: one.description() }));
}

/** Kinds for a command that names an object, and the choices of an argument. */
function argumentsOf(command: Command): Candidate[] {
  const [argument] = command.registeredArguments;
  if (argument === undefined) return [];
  if (argument.argChoices !== undefined) return plain(argument.argChoices);
  const kinds = KINDS.filter(({ resource }) => argument.name() !== "job" || JOB_RESOURCES.includes(resource));
  if (argument.name() !== "kind/name" && argument.name() !== "job") return [];
  return kinds.map(({ singular, description }) => ({ value: `${singular}/`, description }));
}

function plain(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value, description: "" }));
}
