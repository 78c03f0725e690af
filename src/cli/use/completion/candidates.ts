import type { Argument, Command, Option } from "commander";
import type { KindDefinition } from "../../../api/schema/definition.ts";
import {
  accountResource,
  artifactStoreResource,
  clusterAccountResource,
  gpuEndpointResource,
  JOB_KINDS,
  KINDS,
} from "../../../api/v1alpha1/kinds.ts";
import { namespaceResource, type Resource } from "../../../kube/resource.ts";

/** A word that can stand where the last word of a command line stands. */
export type Candidate = { value: string; description: string };

/** The names of the objects of a kind. `flags`: those of the command line, such as `--namespace`. Empty: they cannot be listed. */
export type NameLookup = (resource: Resource, flags: ReadonlyMap<string, string>) => Promise<string[]>;

/**
 * What completes the last word. `words` are those after the name of the program; the last one is as far as it is typed, ""
 * for a new word. None: the shell completes names of files.
 */
export async function candidates(
  program: Command,
  words: readonly string[],
  namesOf: NameLookup,
): Promise<Candidate[]> {
  const partial = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const command = program.commands.find((one) => one.name() === positionals(program, before)[0]);
  const matching = (all: readonly Candidate[]) => all.filter(({ value }) => value.startsWith(partial));

  const options = optionsOf(command ?? program);
  const flags = flagsOf(options, before);
  const asked = options.find((option) => isFlag(option, before.at(-1)));
  if (asked !== undefined && (asked.required || asked.optional)) {
    const resource = FLAG_VALUES[asked.long ?? ""];
    const names = resource === undefined ? (asked.argChoices ?? []) : await namesOf(resource, flags);
    return matching(plain(names));
  }
  if (partial.startsWith("-")) {
    return matching(options.flatMap(({ long, description }) => (long ? [{ value: long, description }] : [])));
  }
  if (command === undefined) return matching(commandsOf(program));
  const [argument] = command.registeredArguments;
  const given = positionals(command, before).slice(1);
  return argument === undefined ? [] : matching(await argumentsOf(argument, [...given, partial], flags, namesOf));
}

/** Flags whose value is the name of an object. */
const FLAG_VALUES: Readonly<Record<string, Resource>> = {
  "--namespace": namespaceResource,
  "--account": accountResource,
  "--cluster-account": clusterAccountResource,
  "--store": artifactStoreResource,
};

const isFlag = ({ long, short }: Option, word: string | undefined) =>
  word !== undefined && [short, long].includes(word);

/** The values of the flags that the words give, by their long names. */
function flagsOf(options: readonly Option[], words: readonly string[]): Map<string, string> {
  const found = words.flatMap((word, index): [string, string][] => {
    const option = options.find((one) => isFlag(one, words[index - 1]) && (one.required || one.optional));
    return option?.long === undefined ? [] : [[option.long, word]];
  });
  return new Map(found);
}

/** The words that are neither an option nor the value of one. */
function positionals(command: Command, words: readonly string[]): string[] {
  return words.filter((word, index) => {
    const option = optionsOf(command).find((one) => isFlag(one, words[index - 1]));
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

/** The kinds that an argument takes, by its name. */
const ARGUMENT_KINDS: Readonly<Record<string, readonly KindDefinition[]>> = {
  object: KINDS,
  job: JOB_KINDS,
  endpoint: KINDS.filter(({ resource }) => resource === gpuEndpointResource),
};

/** `words`: those of the argument, the last one as far as it is typed. */
async function argumentsOf(
  argument: Argument,
  words: readonly string[],
  flags: ReadonlyMap<string, string>,
  namesOf: NameLookup,
): Promise<Candidate[]> {
  if (argument.argChoices !== undefined) return plain(argument.argChoices);
  if (argument.name() === "kind") {
    return KINDS.map(({ resource, description }) => ({ value: resource.plural, description }));
  }
  const kinds = ARGUMENT_KINDS[argument.name()] ?? [];
  const [first = "", second] = words;
  const [kind = "", name] = second === undefined ? first.split("/") : [first, second];
  if (name !== undefined) {
    const found = kinds.find(({ singular, resource, shortNames }) =>
      [singular, resource.plural, ...shortNames].includes(kind),
    );
    const names = found === undefined ? [] : await namesOf(found.resource, flags);
    return plain(second === undefined ? names.map((one) => `${kind}/${one}`) : names);
  }
  const [only, ...others] = kinds;
  if (only !== undefined && others.length === 0) return plain(await namesOf(only.resource, flags));
  return kinds.map(({ singular, description }) => ({ value: `${singular}/`, description }));
}

function plain(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value, description: "" }));
}
