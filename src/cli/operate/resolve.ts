import { type Command, Option } from "commander";
import { parseDuration } from "../../api/schema/duration.ts";
import { JOB_KINDS, KINDS, mediaBatchResource } from "../../api/v1alpha1/kinds.ts";
import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { deadlineSignal, systemClock } from "../../base/clock.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import { accountOfResources } from "../../controllers/account/binding.ts";
import { dayName } from "../../controllers/billing/split.ts";
import { type Job, paidOperation } from "../../controllers/jobs/types.ts";
import { type Resolution, resolutionOf } from "../../describe/resolution.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Resource } from "../../kube/resource.ts";
import { type KubeObject, keyOf } from "../../kube/types.ts";
import { timeZone } from "../../provider/money/time-zone.ts";
import { addClusterOptions, type ClusterFlags, withCluster } from "../account-source.ts";
import { connectAccount } from "../connect-account.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { OBJECT_HELP, type ObjectWords, objectWords, readNamed } from "../object-argument.ts";
import { documentOf, tableOf } from "../table.ts";
import { act, type HaltDecision } from "./resolve/act.ts";
import { actOnAll, haltedJobsOf, haltedText } from "./resolve/batch.ts";
import { billsOfDay, type DayBill } from "./resolve/bills.ts";
import { type SentRequests, sentRequests } from "./resolve/sent.ts";

const FORMATS = ["text", "json", "yaml"] as const;
type ResolveFlags = ClusterFlags & {
  taskId?: string;
  resubmit?: boolean;
  giveUp?: boolean;
  timeout: string;
  output: (typeof FORMATS)[number];
};

const BILLS_MS = 60_000;
const RESOLVED_KINDS = KINDS.filter((kind) => JOB_KINDS.includes(kind) || kind.resource === mediaBatchResource);
const HELP = `
A job is Halted when it is unknown whether the service accepted its paid request, or when the service accepted it and the
result cannot be used. Without a decision, the command shows the
time of the request, the bills of that day, those of the same product first, and how many requests the service bills and
Mooring knows. Then decide:

  --task-id ID   attach the job to its task, which you find in the records of the service. Nothing is sent.
  --resubmit     send the request again, which may be paid for twice
  --give-up      delete the job

Of a MediaBatch, the command lists the halted jobs, and carries out one decision for all of them. A batch goes on beside its
halted jobs, up to maxHaltedIndexes: decide when it shows JobsHalted, once for all.

Examples:
  mooring resolve speechjob/greeting -n team-a
  mooring resolve speechjob/greeting -n team-a --task-id 7c9e6679
  mooring resolve videojob/sea --resubmit
  mooring resolve mediabatch/book --give-up

`;

/** `mooring resolve`: shows what is known of a halted job, and carries out the user's decision. */
export function registerResolveCommand(program: Command): void {
  const command = program
    .command("resolve")
    .description("decide about a Halted job: show its request and the bills, then attach its task, resubmit or give up")
    .argument("<job...>", OBJECT_HELP);
  addClusterOptions(command)
    .addOption(new Option("--task-id <id>", "attach the job to this task").conflicts(["resubmit", "giveUp"]))
    .addOption(new Option("--resubmit", "send the request again, which may be paid for twice").conflicts("giveUp"))
    .option("--give-up", "delete the job; its request may have been charged")
    .option("--timeout <duration>", "how long to wait for an answer of the operator, such as 30s or 5m", "60s")
    .addOption(new Option("-o, --output <format>", "text, json or yaml").choices(FORMATS).default("text"))
    .addHelpText("after", HELP + exitCodesHelp("resolve"))
    .action(async (words: string[], flags: ResolveFlags) => run(objectWords(words, RESOLVED_KINDS), flags));
}

async function run(words: ObjectWords, flags: ResolveFlags): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout);
  const decision = decisionOf(flags);
  await withCluster(flags, async (cluster) => {
    const { kube } = cluster;
    const { resource, object: job } = await readNamed<Job>(cluster, words, RESOLVED_KINDS);
    if (resource === mediaBatchResource) {
      const batch = job as KubeObject as MediaBatch;
      process.stdout.write(await batchText(kube, batch, decision, { timeoutMs, output: flags.output }));
      return;
    }
    const phase = job.status?.phase ?? "Pending";
    if (phase !== "Halted") {
      throw new Error(`${resource.kind} ${keyOf(job)} is ${phase}: only a Halted job waits for a decision`);
    }
    if (decision !== undefined) {
      const signal = deadlineSignal(timeoutMs);
      process.stdout.write(`${oneLine(await act(kube, decision, { resource, job, clock: systemClock, signal }))}\n`);
      return;
    }
    const resolution = resolutionOf(resource.kind, job);
    const shown = { ...resolution, ...(await evidenceOf(kube, resource, job, resolution)) };
    process.stdout.write(flags.output === "text" ? resolutionText(shown) : documentOf(shown, flags.output));
  });
}

async function batchText(
  kube: KubeClient,
  batch: MediaBatch,
  decision: HaltDecision | undefined,
  { timeoutMs, output }: { timeoutMs: number; output: ResolveFlags["output"] },
): Promise<string> {
  if (decision !== undefined) return `${oneLine(await actOnAll(kube, batch, decision, { timeoutMs }))}\n`;
  const jobs = await haltedJobsOf(kube, batch);
  if (output === "text") return haltedText(batch, jobs);
  return documentOf(
    { object: `MediaBatch ${keyOf(batch)}`, halted: jobs.map(({ metadata }) => metadata.name) },
    output,
  );
}

function decisionOf({ taskId, resubmit, giveUp }: ResolveFlags): HaltDecision | undefined {
  if (taskId !== undefined) {
    if (taskId.trim() === "") throw new Error("--task-id is empty: name a task");
    return { kind: "Attach", taskID: taskId.trim() };
  }
  if (resubmit) return { kind: "Resubmit" };
  return giveUp ? { kind: "GiveUp" } : undefined;
}

export type Evidence = {
  /** `YYYY-MM-DD`, in the time zone of the bills. */
  day: string;
  bills?: DayBill[];
  /** Why the bills cannot be read. */
  problem?: string;
  /** Requests of the day: those that the service bills for the same product, and those of Mooring. */
  requests: { billed?: number } & Partial<SentRequests>;
};

/** The bills and the requests of the day. They are a help: without the right to read them, the job can be resolved all the same. */
async function evidenceOf(
  kube: KubeClient,
  resource: Resource,
  job: Job,
  { requestTime }: Resolution,
): Promise<Evidence> {
  const operation = paidOperation(job);
  const time = Date.parse(requestTime);
  const found = await billsOf(kube, job, time);
  const zone = timeZone(found.timeZone);
  const day = dayName(zone.dayOf(Math.floor(time / 1000)));
  const matching = (found.bills ?? []).filter(({ matches }) => matches);
  const billed = matching.reduce((sum, { requests = 0 }) => sum + requests, 0);
  const sent = await sentRequests(kube, resource, job, { operation, day, zone });
  const { timeZone: _, ...shown } = found;
  return { day, ...shown, requests: { ...(found.bills === undefined ? {} : { billed }), ...sent } };
}

async function billsOf(
  kube: KubeClient,
  job: Job,
  time: number,
): Promise<Pick<Evidence, "bills" | "problem"> & { timeZone: string }> {
  try {
    const { session } = await connectAccount(kube, job.metadata.namespace, accountOfResources(job));
    try {
      const { money } = session;
      const bills = await billsOfDay(money, paidOperation(job), time, AbortSignal.timeout(BILLS_MS));
      return { bills, timeZone: money.settings().timeZone };
    } finally {
      await session.close();
    }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error), timeZone: "UTC" };
  }
}

export function resolutionText({ object, operation, requestTime: time, attempt, ...shown }: Resolution & Evidence) {
  const { reason, message, decisions, ...evidence } = shown;
  const sent = `attempt ${attempt} (${operation}, ${time})`;
  const outcome =
    reason === "ResponseUnusable"
      ? `${sent} was accepted, and its result cannot be used`
      : `the outcome of ${sent} is unknown`;
  const width = Math.max(...decisions.map(({ command }) => command.length));
  return [
    `${object} is Halted: ${outcome}\n`,
    `  ${oneLine(message)}\n`,
    `\n${billsText(evidence)}`,
    `\n${requestsText(evidence)}`,
    "\nDecide with one of\n",
    ...decisions.map(({ command, effect }) => `  ${command.padEnd(width)}   ${effect}\n`),
  ].join("");
}

function billsText({ bills: found = [], problem, day }: Evidence): string {
  if (problem !== undefined) return `The bills cannot be read: ${oneLine(problem)}\n`;
  if (found.length === 0) return `The service shows no bills of ${day}. ${LATE}\n`;
  const rows = found.map(({ matches, product, category, key, amount, requests }) =>
    [matches ? "yes" : "no", product, category, key, amount || "?", String(requests ?? "?")].map(oneLine),
  );
  const head = ["SAME PRODUCT", "PRODUCT", "CATEGORY", "KEY", "AMOUNT", "REQUESTS"];
  return `Bills of ${day}, in yuan\n${tableOf(head, rows, ["AMOUNT", "REQUESTS"])}`;
}

const LATE = "A charge can appear minutes after the request.";

/** The numbers of both sides, and what they mean for this request. */
function requestsText({ day, requests: { billed, accepted, unknown } }: Evidence): string {
  const rows = [
    ["billed by the service, of the same product", billed],
    ["accepted, as Mooring knows", accepted],
    ["of unknown outcome, this one included", unknown],
  ] as const;
  const table = tableOf(
    [`REQUESTS OF ${day}`, "COUNT"],
    rows.map(([what, count]) => [what, String(count ?? "?")]),
    ["COUNT"],
  );
  if (billed === undefined || accepted === undefined) return table;
  const meaning =
    billed > accepted
      ? `The service bills ${billed - accepted} more than Mooring knows as accepted: this request may be among them, unless another client uses the account.`
      : `The service bills no request beyond those that Mooring knows as accepted. ${LATE}`;
  return `${table}${meaning}\n`;
}
