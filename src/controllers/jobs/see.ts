import { ANNOTATIONS } from "../../api/v1alpha1/meta.ts";
import type { RunningRequests } from "../../submission/running.ts";
import { type AccountHandle, accountKey, type Resolved } from "../account/registry.ts";
import type { ResolvedStore, StoreRegistry } from "../artifact-store/registry.ts";
import { createValueReader, MissingReferenceError } from "../references.ts";
import type { Shared } from "../shared.ts";
import type { Copies } from "./copies.ts";
import { accountMismatch, blockOf } from "./gate.ts";
import {
  type Block,
  pastDeadline,
  type Seen,
  type SeenBy,
  seenAccepted,
  seenHalted,
  seenTask,
  seenUnknown,
  seenWaiting,
} from "./observations.ts";
import type { JobState } from "./states.ts";
import { type Answer, acceptedFrom } from "./submit.ts";
import { InvalidJobError, type Job, type JobAdapter, workOf } from "./types.ts";

/** A Secret or ConfigMap that is not there may come; nobody tells. */
const REFERENCE_RETRY_MS = 15_000;

/** What runs for the jobs of both kinds beside their reconciles. */
export type JobWiring = { running: RunningRequests<Answer>; copies: Copies; stores: StoreRegistry };

/** What is seen, and what a step that acts upon it works with. */
export type Sight = { seen: Seen; account?: AccountHandle; store?: ResolvedStore | undefined };

/** Looks at everything that a job in this state depends on. Undefined: not known yet, the job is told when it is. */
export async function see<T extends Job>(
  shared: Shared,
  wiring: JobWiring,
  adapter: JobAdapter<T>,
  job: T,
  state: JobState,
  wake: () => void,
  signal: AbortSignal,
): Promise<Sight | undefined> {
  const facts = { job, spec: job.spec, status: job.status, now: shared.clock.now() };
  switch (state.kind) {
    case "Waiting":
      return seeWaiting();
    case "Sending":
      return { seen: await seeSending(state) };
    case "Halted":
      return { seen: seenHalted(facts, job.metadata.annotations?.[ANNOTATIONS.resubmitToken]) };
    case "Tracking":
      return seeTask(state.taskID);
    case "Storing":
      return seeCopy();
    default:
      return undefined;
  }

  async function seeWaiting(): Promise<Sight | undefined> {
    if (job.spec.suspend) return { seen: { kind: "Suspended" } };
    const late = pastDeadline(facts);
    if (late !== undefined) return { seen: late };
    const { status } = job;
    const pause = status?.nextAttemptTime === undefined ? 0 : Date.parse(status.nextAttemptTime);
    if (pause > facts.now) return { seen: { kind: "TooSoon", until: pause } };
    const resolved = await shared.accounts.resolve(job.spec.accountRef, job.metadata.namespace ?? "");
    const store = storeOf();
    if (resolved.kind === "Checking" || store?.kind === "Checking") return undefined;
    const block = blockOf({ job, resolved, store });
    if (block !== undefined || resolved.kind === "Held") {
      return block === undefined ? undefined : { seen: { kind: "Blocked", ...block } };
    }
    const { account } = resolved;
    const { uid = "" } = job.metadata;
    const rest = wiring.running.backoffUntil(uid);
    if (rest !== undefined && rest > facts.now) return { seen: { kind: "Resting", until: rest } };
    const prepared = await prepare(account);
    if (prepared.kind === "Clear") {
      const { operation } = prepared.request;
      const admission = shared.admission.request(account.key, { ...workOf(job), operation }, wake);
      if (admission.kind === "Waiting") return { seen: seenWaiting(facts, admission) };
    }
    return { seen: prepared, account, store };
  }

  async function prepare(account: AccountHandle): Promise<SeenBy<"Waiting">> {
    try {
      return { kind: "Clear", request: await adapter.prepare(job, account, createValueReader(shared.kube, signal)) };
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      if (error instanceof InvalidJobError) return { kind: "InvalidSpec", reason: "InvalidSpec", message };
      if (error instanceof MissingReferenceError) {
        return { kind: "Blocked", reason: error.reason, message, stalled: true, againMs: REFERENCE_RETRY_MS };
      }
      throw error;
    }
  }

  async function seeSending({ entry }: Extract<JobState, { kind: "Sending" }>): Promise<SeenBy<"Sending">> {
    const { uid = "" } = job.metadata;
    const submission = wiring.running.find(uid);
    const { answer } = submission ?? {};
    if (submission !== undefined && answer === undefined) {
      return { kind: "UnderWay", ...submission };
    }
    if (answer !== undefined) {
      const { account } = answer;
      switch (answer.kind) {
        case "Accepted":
          return seenAccepted(answer.accepted, { entry: answer.entry, account }, job.spec);
        case "NotTaken":
          return {
            kind: "NotTaken",
            entry: answer.entry,
            ...answer.block,
            until: wiring.running.backoffUntil(uid) ?? facts.now,
          };
        case "Refused":
          return { kind: "Refused", reason: answer.reason, message: answer.message, entry: answer.entry, account };
        case "Unknown":
          return seenUnknown({ entry: answer.entry, account }, answer.cause, facts);
        case "Withdrawn":
          return { kind: "Withdrawn", until: facts.now };
      }
    }
    if (entry === undefined) throw new Error("a request without a journal entry and without an answer");
    const resolved = await shared.accounts.resolve(job.spec.accountRef, job.metadata.namespace ?? "");
    const account =
      resolved.kind === "Usable"
        ? { kind: resolved.ref.kind, name: resolved.ref.name, baseURL: resolved.account.baseURL }
        : undefined;
    if (entry.outcome !== undefined) return seenAccepted(acceptedFrom(entry.outcome), { entry, account }, job.spec);
    return seenUnknown({ entry, account }, "the operator ended before it had the answer", facts);
  }

  async function seeTask(taskID: string): Promise<Sight | undefined> {
    const resolved = await shared.accounts.resolve(job.spec.accountRef, job.metadata.namespace ?? "");
    if (resolved.kind === "Checking") return undefined;
    if (resolved.kind === "Held") {
      const { reason, message } = resolved;
      return { seen: seenTask(facts, taskID, undefined, { reason, message, stalled: false }) };
    }
    const { account } = resolved;
    const block: Block | undefined = accountMismatch(job, account);
    if (block !== undefined) return { seen: seenTask(facts, taskID, undefined, block) };
    return { seen: seenTask(facts, taskID, account.tasks.latest(taskID), undefined), account };
  }

  function seeCopy(): Sight | undefined {
    const { uid = "" } = job.metadata;
    const { status } = job;
    const expired = status?.resultsExpireAt !== undefined && facts.now >= Date.parse(status.resultsExpireAt);
    const lost = (why: string): Sight => {
      const message = `The results ran out at ${status?.resultsExpireAt} before they were copied (${why}): create a new ${job.kind} to make them again`;
      return { seen: { kind: "ResultsLost", reason: "NoResult", message } };
    };
    const copy = wiring.copies.find(uid);
    if (copy !== undefined) {
      const { end, bytes, totalBytes } = copy;
      if (end === undefined) return { seen: { kind: "Copying", note: copyNote(bytes, totalBytes) } };
      if (end.kind === "Stored") return { seen: { kind: "Stored", results: end.results } };
      if (expired) return lost(end.message);
      return { seen: { ...end, kind: "CopyFailed" } };
    }
    const rest = wiring.copies.restingUntil(uid);
    if (rest !== undefined && rest > facts.now) return { seen: { kind: "Resting", until: rest } };
    const store = storeOf();
    if (store?.kind === "Checking") return undefined;
    const blocked = (block: Omit<Block, "stalled">): Sight =>
      expired ? lost(block.message) : { seen: { kind: "Blocked", ...block, stalled: true } };
    if (store?.kind === "Held") return blocked(store);
    const account = accountOfResults();
    if (account.kind === "Checking") return undefined;
    if (account.kind === "Held") return blocked({ reason: "AccountNotReady", message: account.message });
    return { seen: { kind: "NotCopying" }, account: account.account, store };
  }

  /** Whose the results are: it says which addresses may be read from. One that is held, for its key or budget, can say so too. */
  function accountOfResults(): Resolved {
    const { namespace = "" } = job.metadata;
    const bound = job.status?.account;
    const handle = bound && shared.accounts.get(accountKey(bound.kind, bound.name, namespace))?.handle;
    if (handle !== undefined && bound !== undefined) return { kind: "Usable", account: handle, ref: bound };
    return shared.accounts.resolveCleanup(bound, job.spec.accountRef, namespace);
  }

  function storeOf(): ResolvedStore | undefined {
    const { output } = job.spec;
    return output === undefined ? undefined : wiring.stores.resolve(job.metadata.namespace ?? "", output.storeRef);
  }
}

function copyNote(bytes: number, totalBytes: number | undefined): string {
  if (bytes === 0) return "The results are being copied";
  const mib = (value: number) => `${Math.round(value / 2 ** 20)} MiB`;
  return `The results are being copied: ${mib(bytes)}${totalBytes === undefined ? "" : ` of ${mib(totalBytes)}`}`;
}
