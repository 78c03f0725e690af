import { expect } from "vitest";
import { type AnyObject, type AuditEntry, condition, eventually, type World } from "../../support/world.ts";
import { PAID } from "../paid-calls.ts";

type Remote = { id: string; parameters: { workerConfig: { maxNum: number } } };

const appNameOf = ({ body }: AuditEntry) =>
  String((body?.["endpoint"] as { appName?: string } | undefined)?.appName ?? body?.["appName"]);
const hasEffect = ({ effect }: AuditEntry) => effect !== undefined;

/** The paid requests that took effect, by text. */
export async function paidByText(world: World): Promise<Map<string, AuditEntry[]>> {
  const paid = (await world.audit()).filter((entry) => PAID.includes(entry.operation) && hasEffect(entry));
  return Map.groupBy(paid, ({ body }) => String(body?.["text"]));
}

/** The jobs that a user had to decide about, and what the user did. */
export type Decisions = { attached: string[]; resubmitted: string[] };

/**
 * Does what a user does with a job whose outcome is unknown: looks for its task in the records of the service, and attaches it, or lets it
 * be sent again when there is none.
 */
async function decide(world: World, halted: readonly AnyObject[], decisions: Decisions): Promise<void> {
  const paid = halted.length > 0 ? await paidByText(world) : new Map<string, AuditEntry[]>();
  for (const { metadata, spec } of halted) {
    const task = paid.get(String(spec["text"]))?.[0]?.id;
    const annotations =
      task === undefined ? { "mooring.dev/resubmit-token": "checked" } : { "mooring.dev/attach-task": task };
    const list = task === undefined ? decisions.resubmitted : decisions.attached;
    if (list.includes(metadata.name)) continue;
    list.push(metadata.name);
    await world.patch("SpeechJob", metadata.name, { metadata: { annotations } });
  }
}

/** Until each job has succeeded. Call it when no process is frozen: a frozen one may know the outcome of a halted job. */
export async function untilJobsSucceeded(world: World, count: number, timeoutMs: number): Promise<Decisions> {
  const decisions: Decisions = { attached: [], resubmitted: [] };
  let open: string[] = [];
  await eventually(
    `${count} jobs have succeeded`,
    async () => {
      const jobs = await world.list("SpeechJob");
      await decide(
        world,
        jobs.filter(({ status }) => status?.["phase"] === "Halted"),
        decisions,
      );
      const pending = jobs.filter(({ status }) => status?.["phase"] !== "Succeeded");
      open = pending.map(({ metadata, status }) => `${metadata.name}: ${JSON.stringify(status)}`);
      return jobs.length === count && open.length === 0;
    },
    timeoutMs,
  ).catch((error: unknown) => expect.fail(`${error}\n${open.slice(0, 5).join("\n")}`));
  return decisions;
}

/** Each job has the task of its only paid request. */
export async function expectJobsOnce(world: World): Promise<void> {
  const paid = await paidByText(world);
  const wrong = (await world.list("SpeechJob")).flatMap(({ metadata, spec, status }) => {
    const requests = paid.get(String(spec["text"])) ?? [];
    const results = (status?.["results"] as unknown[] | undefined)?.length ?? 0;
    const isRight = requests.length === 1 && requests[0]?.id === status?.["taskID"] && results > 0;
    return isRight ? [] : [{ name: metadata.name, requests, status }];
  });
  expect(wrong).toEqual([]);
}

/** What is not as it should be of an endpoint, in words. */
function wrongsOf({ metadata, spec, status }: AnyObject, remotes: ReadonlyMap<string, Remote>): string[] {
  const object = { metadata, spec, status } as AnyObject;
  const remote = remotes.get(String(status?.["endpointID"]));
  const { name, generation } = metadata;
  const max = (spec["workers"] as { max: number }).max;
  for (const type of ["Ready", "Synced"]) {
    const found = condition(object, type);
    if (found?.status !== "True") return [`${name} is not ${type}: ${found?.reason} ${found?.message}`];
  }
  if (status?.["observedGeneration"] !== generation) return [`${name}'s status is of an earlier spec`];
  if (remote === undefined) return [`${name} has no endpoint`];
  return remote.parameters.workerConfig.maxNum === max ? [] : [`${name}'s endpoint differs from its spec`];
}

/** Until each endpoint is Ready and as its spec says. */
export async function untilEndpointsReady(world: World, count: number, timeoutMs: number): Promise<void> {
  let wrongs: string[] = [];
  await eventually(
    `${count} endpoints are Ready and in sync`,
    async () => {
      const objects = await world.list("GpuEndpoint");
      const remotes = new Map(((await world.state()).endpoints as Remote[]).map((remote) => [remote.id, remote]));
      wrongs = objects.flatMap((object) => wrongsOf(object, remotes));
      return objects.length === count && wrongs.length === 0;
    },
    timeoutMs,
  ).catch((error: unknown) => expect.fail(`${error}\n${wrongs.slice(0, 5).join("\n")} (${wrongs.length})`));
}

/** Each app name was created once, and its endpoint is the one that an object names. */
export async function expectEndpointsOnce(world: World): Promise<void> {
  const objects = await world.list("GpuEndpoint");
  const creates = (await world.audit("createEndpoint")).filter(hasEffect);
  const byName = Map.groupBy(creates, appNameOf);
  expect([...byName].filter(([, entries]) => entries.length > 1)).toEqual([]);
  const named = objects.map(({ status }) => String(status?.["endpointID"])).sort();
  expect(creates.map(({ id }) => String(id)).sort()).toEqual(named);
}
