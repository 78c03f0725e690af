import { type Command, Option } from "commander";
import { parseDuration } from "../../api/schema/duration.ts";
import { JOB_RESOURCES } from "../../api/v1alpha1/kinds.ts";
import { deadlineSignal, systemClock } from "../../base/clock.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import { accountOfResources } from "../../controllers/account/binding.ts";
import { type Job, paidOperation } from "../../controllers/jobs/types.ts";
import { objectState } from "../../describe/object-state.ts";
import type { KubeClient } from "../../kube/client.ts";
import { taskOf } from "../../provider/operations.ts";
import { addClusterOptions, type ClusterFlags, lazyCluster } from "../account-source.ts";
import { connectAccount } from "../connect-account.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { type NamedObject, namedObject } from "../kind-argument.ts";
import { documentOf, tableOf } from "../table.ts";
import { act, type HaltDecision } from "./resolve/act.ts";
import { billsOfDay, type DayBill } from "./resolve/bills.ts";

const FORMATS = ["text", "json", "yaml"] as const;
type ResolveFlags = ClusterFlags & {
  taskId?: string;
  resubmit?: boolean;
  giveUp?: boolean;
  timeout: string;
  output: (typeof FORMATS)[number];
};

const BILLS_MS = 60_000;
const HELP = `
A job is Halted when it is unknown whether the service accepted its paid request, or when the service accepted it and the
result cannot be used. Without a decision, the command shows the
time of the request and the bills of that day, those of the same product first. The service bills by day, so compare the
number of requests with what you sent. Then decide:

  --task-id ID   attach the job to its task, which you find in the records of the service. Nothing is sent.
  --resubmit     send the request again, which may be paid for twice
  --give-up      delete the job

Examples:
  mooring resolve speechjob/greeting -n team-a
  mooring resolve speechjob/greeting -n team-a --task-id 7c9e6679
  mooring resolve videojob/sea --resubmit

`;

/** `mooring resolve`: shows what is known of a halted job, and carries out the user's decision. */
export function registerResolveCommand(program: Command): void {
  const command = program
    .command("resolve")
    .description("decide about a Halted job: show its request and the bills, then attach its task, resubmit or give up")
    .argument("<job>", "the job, such as speechjob/greeting");
  addClusterOptions(command)
    .addOption(new Option("--task-id <id>", "attach the job to this task").conflicts(["resubmit", "giveUp"]))
    .addOption(new Option("--resubmit", "send the request again, which may be paid for twice").conflicts("giveUp"))
    .option("--give-up", "delete the job; its request may have been charged")
    .option("--timeout <duration>", "how long to wait for the operator, such as 30s or 5m", "60s")
    .addOption(new Option("-o, --output <format>", "text, json or yaml").choices(FORMATS).default("text"))
    .addHelpText("after", HELP + exitCodesHelp("resolve"))
    .action(async (argument: string, flags: ResolveFlags) => run(jobArgument(argument), flags));
}

function jobArgument(argument: string): NamedObject {
  const named = namedObject(argument);
  if (JOB_RESOURCES.includes(named.resource)) return named;
  throw new Error(`"${argument}" is not a job: name a ${JOB_RESOURCES.map(({ kind }) => kind).join(" or a ")}`);
}

async function run({ resource, name }: NamedObject, flags: ResolveFlags): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout);
  const decision = decisionOf(flags);
  const cluster = lazyCluster(flags, process.env);
  try {
    const { kube, namespace } = await cluster.open();
    const job = await kube.get<Job>(resource, { namespace, name });
    const phase = job.status?.phase ?? "Pending";
    if (phase !== "Halted") {
      throw new Error(`${resource.kind} ${namespace}/${name} is ${phase}: only a Halted job waits for a decision`);
    }
    if (decision !== undefined) {
      const signal = deadlineSignal(timeoutMs);
      process.stdout.write(`${oneLine(await act(kube, decision, { resource, job, clock: systemClock, signal }))}\n`);
      return;
    }
    const shown = { ...resolutionOf(resource.kind, job), ...(await bills(kube, job)) };
    process.stdout.write(flags.output === "text" ? text(shown) : documentOf(shown, flags.output));
  } finally {
    await cluster.close();
  }
}

function decisionOf({ taskId, resubmit, giveUp }: ResolveFlags): HaltDecision | undefined {
  if (taskId !== undefined) {
    if (taskId.trim() === "") throw new Error("--task-id is empty: name a task");
    return { kind: "Attach", taskID: taskId.trim() };
  }
  if (resubmit) return { kind: "Resubmit" };
  return giveUp ? { kind: "GiveUp" } : undefined;
}

export type Resolution = {
  object: string;
  operation: string;
  /** RFC 3339: when the request was sent, or when its outcome became unknown if the status does not show that. */
  requestTime: string;
  attempt: number;
  /** SubmissionUnknown or ResponseUnusable. */
  reason: string;
  message: string;
  /** Commands that decide. */
  decisions: { command: string; effect: string }[];
};

export function resolutionOf(kind: string, job: Job): Resolution {
  const { namespace, name } = job.metadata;
  const { message, reason } = objectState(job);
  const command = `mooring resolve ${kind.toLowerCase()}/${name} -n ${namespace}`;
  const operation = paidOperation(job);
  const attach = { command: `${command} --task-id TASK_ID`, effect: "follow the task; sends nothing" };
  return {
    object: `${kind} ${namespace}/${name}`,
    operation,
    requestTime: requestTime(job),
    attempt: job.status?.submission?.attempt ?? 1,
    reason,
    message,
    decisions: [
      ...(taskOf(operation) === undefined ? [] : [attach]),
      { command: `${command} --resubmit`, effect: "send another request, which may be paid for twice" },
      { command: `${command} --give-up`, effect: "delete the job" },
    ],
  };
}

/** The message of the halt has the time of the request; the submission has the time of its end. */
function requestTime(job: Job): string {
  const sent = /was sent at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)/.exec(objectState(job).message)?.[1];
  return sent ?? job.status?.submission?.time ?? job.metadata.creationTimestamp;
}

type Bills = { bills?: DayBill[]; problem?: string };

/** The bills are a help: without the right to read them, the job can be resolved all the same. */
async function bills(kube: KubeClient, job: Job): Promise<Bills> {
  const { namespace } = job.metadata;
  try {
    const { session } = await connectAccount(kube, namespace, accountOfResources(job));
    try {
      const signal = AbortSignal.timeout(BILLS_MS);
      return { bills: await billsOfDay(session.money, paidOperation(job), Date.parse(requestTime(job)), signal) };
    } finally {
      await session.close();
    }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

function text({ object, operation, requestTime: time, attempt, ...shown }: Resolution & Bills) {
  const { reason, message, decisions, ...money } = shown;
  const sent = `attempt ${attempt} (${operation}, ${time})`;
  const outcome =
    reason === "ResponseUnusable"
      ? `${sent} was accepted, and its result cannot be used`
      : `the outcome of ${sent} is unknown`;
  const width = Math.max(...decisions.map(({ command }) => command.length));
  return [
    `${object} is Halted: ${outcome}\n`,
    `  ${oneLine(message)}\n`,
    `\n${billsText(money, time)}`,
    "\nDecide with one of\n",
    ...decisions.map(({ command, effect }) => `  ${command.padEnd(width)}   ${effect}\n`),
  ].join("");
}

function billsText({ bills: found = [], problem }: Bills, time: string): string {
  const day = time.slice(0, 10);
  if (problem !== undefined) return `The bills cannot be read: ${oneLine(problem)}\n`;
  if (found.length === 0)
    return `The service shows no bills of ${day}. A charge can appear minutes after the request.\n`;
  const rows = found.map(({ matches, product, category, key, amount, requests }) =>
    [matches ? "yes" : "no", product, category, key, amount || "?", requests || "?"].map(oneLine),
  );
  const head = ["SAME PRODUCT", "PRODUCT", "CATEGORY", "KEY", "AMOUNT", "REQUESTS"];
  return `Bills of ${day}, in yuan\n${tableOf(head, rows, ["AMOUNT", "REQUESTS"])}`;
}
