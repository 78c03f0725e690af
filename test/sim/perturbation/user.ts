import { isNotFound } from "../../../src/kube/errors.ts";
import { PAID } from "../../faults/paid-calls.ts";
import { type AnyObject, condition } from "../../support/world.ts";
import type { Stage } from "../stage/stage.ts";

const LOOK_MS = 1_000;

/** What the user had to do. */
export type Help = {
  /** Jobs that were halted. The user released them. */
  released: number;
  /** Released jobs whose request the service had taken. */
  paidTwice: number;
  /** Endpoints that were deleted at the service, and whose deletion Mooring did not notice. The user let the objects go. */
  letGo: number;
};

/** The user who reads conditions, asks the service, and does what the messages say. */
export function createUser(stage: Stage) {
  const handled = new Set<string>();
  const help: Help = { released: 0, paidTwice: 0, letGo: 0 };
  let stopped = false;

  async function release({ kind = "", metadata, status }: AnyObject): Promise<void> {
    const attempts = Number(status?.["attempts"]);
    const token = `${metadata.uid}-${attempts}`;
    if (status?.["phase"] !== "Halted" || handled.has(token)) return;
    handled.add(token);
    help.released += 1;
    const audit = await stage.audit();
    const taken = audit.filter(({ operation, effect }) => PAID.includes(operation) && effect !== undefined);
    if (taken.length >= attempts) help.paidTwice += 1;
    await stage.patch(kind, metadata.name, { metadata: { annotations: { "mooring.dev/resubmit-token": token } } });
  }

  async function letGo(object: AnyObject): Promise<void> {
    const { name, uid = "", deletionTimestamp } = object.metadata;
    const isBlocked = condition(object, "Stalled")?.reason === "RemoteMissing";
    if (deletionTimestamp === undefined || !isBlocked || handled.has(uid)) return;
    const { endpoints } = await stage.state();
    if (endpoints.some(({ id }) => id === object.status?.["endpointID"])) return;
    handled.add(uid);
    help.letGo += 1;
    const metadata = { annotations: { "mooring.dev/deletion-policy": "Retain" } };
    await stage.patch("GpuEndpoint", name, { metadata });
  }

  async function look(): Promise<void> {
    for (const job of [...(await stage.list("SpeechJob")), ...(await stage.list("VideoJob"))]) await release(job);
    for (const endpoint of await stage.list("GpuEndpoint")) await letGo(endpoint);
  }
  const looking = (async () => {
    while (!stopped) {
      await stage.pass(LOOK_MS);
      // The object is gone by now.
      await look().catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    }
  })();
  return {
    help: (): Help => ({ ...help }),
    /** @throws what went wrong meanwhile */
    stop(): Promise<void> {
      stopped = true;
      return looking;
    },
  };
}
