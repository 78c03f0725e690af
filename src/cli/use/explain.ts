import { styleText } from "node:util";
import { type Command, Option } from "commander";
import type { ConditionType } from "../../api/v1alpha1/conditions.ts";
import { systemClock } from "../../base/clock.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import { eventsOf, historyOf, type KubeEvent, type Moment } from "../../describe/history.ts";
import { type AnyObject, type ObjectState, objectState, toneOf } from "../../describe/object-state.ts";
import { offersOf } from "../../describe/offers.ts";
import type { Resource } from "../../kube/resource.ts";
import type { Condition } from "../../kube/types.ts";
import { addClusterOptions, type ClusterFlags, withCluster } from "../account-source.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { OBJECT_HELP, type ObjectWords, objectWords, readNamed } from "../object-argument.ts";
import { age, documentOf, showsColors, tableOf } from "../table.ts";
import { COLORS } from "./status/rows.ts";

const FORMATS = ["text", "json", "yaml"] as const;
type ExplainFlags = ClusterFlags & { output: (typeof FORMATS)[number] };

/** Width of the text, in characters. */
const WIDTH = 100;
const HELP = `
Shows what the object waits for, other conditions that are wrong, the commands that can help, where an endpoint
differs from its spec, and its history: conditions, the last request and events. Events expire, after one hour by default.

Examples:
  mooring explain greeting -n team-a
  mooring explain speechjob/greeting -n team-a
  mooring explain gpuendpoint echo -o json

`;

/** `mooring explain`: what one object waits for, why, and what a user can do. */
export function registerExplainCommand(program: Command): void {
  const command = program
    .command("explain")
    .description("explain one object: what it waits for, what you can do, and its history")
    .argument("<object...>", OBJECT_HELP);
  addClusterOptions(command)
    .addOption(new Option("-o, --output <format>", "text, json or yaml").choices(FORMATS).default("text"))
    .addHelpText("after", HELP + exitCodesHelp("explain"))
    .action(async (words: string[], flags: ExplainFlags) => run(objectWords(words), flags));
}

async function run(words: ObjectWords, flags: ExplainFlags): Promise<void> {
  const explanation = await withCluster(flags, async (cluster) => {
    const { resource, object } = await readNamed<AnyObject>(cluster, words);
    return explain(resource, object, await eventsOf(cluster.kube, object));
  });
  const shown =
    flags.output === "text"
      ? text(explanation, systemClock.now(), showsColors(process.stdout))
      : documentOf(explanation, flags.output);
  process.stdout.write(shown);
}

export type Explanation = ObjectState & {
  object: string;
  /** Commands that help, as they can be pasted. */
  commands: string[];
  /** Other conditions that are wrong, such as Synced=False of an endpoint that serves. */
  otherProblems: { condition: string; reason: string; message: string }[];
  /** Fields in which the remote endpoint differs from the spec. */
  drift: { field: string; desired?: string; observed?: string }[];
  /** Oldest first. */
  history: Moment[];
};

export function explain(resource: Resource, object: AnyObject, events: readonly KubeEvent[]): Explanation {
  const { namespace, name } = object.metadata;
  const { conditions = [], drift = [] } = object.status ?? {};
  const state = objectState(object);
  return {
    object: `${resource.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`,
    ...state,
    commands: offersOf(resource.kind, object),
    otherProblems: conditions
      .filter(({ message, ...condition }) => message !== state.message && isWrong(condition))
      .map(({ type, status, reason, message }) => ({ condition: `${type}=${status}`, reason, message })),
    drift: [...drift],
    history: historyOf(object, events).map((moment) => withoutMessage(moment, state.message)),
  };
}

/** The headline shows the message: an event with it shows its reason alone. */
function withoutMessage(moment: Moment, message: string): Moment {
  const said = `: ${message}`;
  return message !== "" && moment.text.endsWith(said)
    ? { ...moment, text: moment.text.slice(0, -said.length) }
    : moment;
}

/** Conditions that are False while all is well. */
const WRONG_WHILE_TRUE: readonly string[] = [
  "Stalled",
  "Reconciling",
  "Suspended",
  "Stopped",
  "Failed",
  "BudgetExceeded",
  "Contested",
] satisfies ConditionType[];

function isWrong({ type, status }: Pick<Condition, "type" | "status">): boolean {
  return status === (WRONG_WHILE_TRUE.includes(type) ? "True" : "False");
}

function text(explanation: Explanation, now: number, colors: boolean): string {
  const { object, state, reason, message, since, commands, otherProblems, drift, history } = explanation;
  const ago = (time: string) => age(now - Date.parse(time));
  const sections = [
    `${object}: ${colors ? styleText(COLORS[toneOf(explanation)], state, { validateStream: false }) : state} (${reason}), for ${ago(since)}\n${wrapped(message)}`,
    otherProblems.length === 0
      ? ""
      : `Also\n${otherProblems.map(({ condition, reason, message: why }) => wrapped(`${condition} (${reason}): ${why}`)).join("")}`,
    commands.length === 0 ? "" : `What you can do\n${commands.map((command) => `  ${command}\n`).join("")}`,
    drift.length === 0
      ? ""
      : `Spec and remote endpoint\n${tableOf(
          ["FIELD", "SPEC", "REMOTE"],
          drift.map(({ field, desired = "-", observed = "-" }) => [field, oneLine(desired), oneLine(observed)]),
        )}`,
    `History\n${tableOf(
      ["AGE", "WHAT", ""],
      history.map(({ time, what, text: line }) => [ago(time), what, oneLine(line)]),
    )}`,
  ];
  return sections.filter((section) => section !== "").join("\n");
}

/** Lines of at most `WIDTH` characters, indented. A longer word has a line of its own. */
function wrapped(message: string): string {
  const lines: string[] = [];
  for (const word of oneLine(message).split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.map((line) => `${line}\n`).join("");
}
