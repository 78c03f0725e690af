import type { Command } from "commander";
import { COMMANDS } from "../../api/v1alpha1/commands.ts";
import { JOB_KINDS } from "../../api/v1alpha1/kinds.ts";
import { isInFlight } from "../../controllers/jobs/in-flight.ts";
import type { Job } from "../../controllers/jobs/types.ts";
import { isConflict } from "../../kube/errors.ts";
import { keyOf } from "../../kube/types.ts";
import { addClusterOptions, type ClusterFlags, withCluster } from "../account-source.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { type FoundObject, OBJECT_HELP, objectWords, readNamed } from "../object-argument.ts";

type CancelFlags = ClusterFlags & { dropResult?: boolean };

const HELP = `
Deletes a job whose request was not sent: nothing is charged. The service cannot stop a task, so a job whose request was sent
is deleted only with --drop-result: its task runs on and is charged, and its result is lost.

Examples:
  mooring cancel speechjob/chapter-2 -n team-a
  mooring cancel sea --drop-result

`;

/** `mooring cancel`: deletes a job, and says what that costs. */
export function registerCancelCommand(program: Command): void {
  const command = program
    .command("cancel")
    .description("delete a job before it is sent, so that nothing is charged")
    .argument("<job...>", OBJECT_HELP);
  addClusterOptions(command)
    .option("--drop-result", "delete the job although its request was sent: it is charged, and its result is lost")
    .addHelpText("after", HELP + exitCodesHelp("cancel"))
    .action(async (words: string[], flags: CancelFlags) => {
      await withCluster(flags, async (cluster) => {
        const found = await readNamed<Job>(cluster, objectWords(words, JOB_KINDS), JOB_KINDS);
        const done = cancellation(found, flags.dropResult === true);
        const { name, namespace, uid, resourceVersion } = found.object.metadata;
        // A request that begins meanwhile is recorded in the job first, which is a conflict here.
        const preconditions = { uid, resourceVersion };
        await cluster.kube
          .delete(found.resource, { namespace, name }, { body: { preconditions } })
          .catch((error: unknown) => {
            if (!isConflict(error)) throw error;
            throw new Error("the job changed meanwhile: run the command again", { cause: error });
          });
        process.stdout.write(`${done}\n`);
      });
    });
}

/** What a deletion now means, in one line. @throws Error of one line: why the job is not deleted, and what to do */
export function cancellation({ resource, object }: FoundObject<Job>, dropResult: boolean): string {
  const what = `${resource.kind} ${keyOf(object)}`;
  const { phase = "Pending", submission, attempts = 0, taskID } = object.status ?? {};
  if (phase === "Succeeded" || phase === "Failed") throw new Error(`${what} is ${phase}: there is nothing to cancel`);
  if (phase === "Halted") {
    const target = { kind: resource.kind, ...object.metadata };
    throw new Error(`${what} is Halted: decide about its request first: ${COMMANDS.resolve(target)}`);
  }
  const isUnderWay = isInFlight(object.status) || phase === "Storing" || submission?.state === "Unknown";
  if (!isUnderWay) {
    const sent = attempts === 1 ? "1 request was" : `${attempts} requests were`;
    const earlier = attempts === 0 ? "nothing was sent" : `no request is under way; ${sent} sent before`;
    return `${what} is deleted: ${earlier}`;
  }
  const task = taskID === undefined ? "its request" : `task ${taskID}`;
  if (dropResult) return `${what} is deleted: ${task} runs on at the service and is charged`;
  throw new Error(
    `${what} is ${phase}: the service cannot stop ${task}, which is charged. To delete the job all the same and lose its result: --drop-result`,
  );
}
