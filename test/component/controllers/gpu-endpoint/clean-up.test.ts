import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import type { GpuEndpointStatus } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { gpuEndpointResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { countVanished } from "../../../../src/controllers/account/vanished.ts";
import { type CleanedUp, deleteRemote, scaleToZero } from "../../../../src/controllers/gpu-endpoint/clean-up.ts";
import type { SentCleanUp } from "../../../../src/controllers/gpu-endpoint/memory.ts";
import { createKubeClient } from "../../../../src/kube/client.ts";
import { anonymous } from "../../../../tools/cluster/credentials.ts";
import { endpointOf } from "../../../support/endpoints.ts";
import { createFakeClock, type FakeClock, hastyClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, sessionAt } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";
import { KEY, makeClient } from "../../provider/http/make-client.ts";
import { type Bench, endpointBody, startBench } from "../../simulator/start.ts";

const deleteOperation = { method: "DELETE", path: "/gpus/v2/endpoints/{id}" } as const;
const signal = new AbortController().signal;

const FOREIGN_KEY = "second-key";
const CREATED = "2026-01-01T00:00:00Z";

type Deletion = NonNullable<GpuEndpointStatus["deletion"]>;

let bench: Bench;
afterEach(() => bench.close());

type Scene = {
  id: string;
  clock: FakeClock;
  /** One reconcile of the deletion. */
  step(policy: "ScaleToZero" | "Delete"): Promise<CleanedUp>;
  /** Reconciles until lists have decided. */
  decided(policy: "ScaleToZero" | "Delete"): Promise<CleanedUp>;
  /** From now on the account has the key of another member, which sees none of its endpoints. */
  becomeForeign(): void;
  /** Another process takes over: what it remembers is in the status. */
  restart(): void;
  /** Reads the limits of the account. */
  probe(): Promise<unknown>;
  /** What the status shows of the deletion. */
  deletion(): Deletion | undefined;
  updates(): Promise<string[]>;
};

/** An endpoint that is being deleted, of an account whose objects are bound to it and to `alsoBound` more endpoints. */
async function scene({
  generation = "Current" as "Current" | "Earlier",
  alsoBound = 0,
  seen = true,
  /** Another object of the account is bound to an endpoint of the key that the account gets by `becomeForeign`. */
  foreignBound = false,
} = {}): Promise<Scene> {
  bench = await startBench({ bootDelayMs: 0, keySees: "Member", deleteOperation });
  let apiKey = KEY;
  const client = makeClient(bench.url, { apiKey: () => apiKey }, deleteOperation);
  onTestFinished(() => client.close());
  const { id } = await client.createEndpoint(endpointBody());
  const bound = [id];
  for (let i = 0; i < alsoBound; i++) {
    bound.push((await client.createEndpoint(endpointBody({ appName: `other-${i}` }))).id);
  }
  if (foreignBound) {
    const foreign = makeClient(bench.url, { apiKey: () => FOREIGN_KEY }, deleteOperation);
    onTestFinished(() => foreign.close());
    bound.push((await foreign.createEndpoint(endpointBody({ appName: "foreign" }))).id);
  }
  const clock = createFakeClock();
  const kube = createKubeClient(anonymous("http://127.0.0.1:9"));
  const shared = sharedOf(kube, gpuEndpointResource, { clock });
  let deletion: Deletion | undefined;
  /** An operator, with what it remembers. */
  const start = () => {
    const session = sessionAt(bench.url, { apiKey: () => apiKey, generation, deleteOperation, clock: hastyClock });
    session.start();
    const account = accountAt(bench.url, {
      ...session,
      keyVersion: () => `version-of-${apiKey}`,
      vanished: (missing = { endpointID: undefined, memberID: undefined }) =>
        countVanished(bound, session.endpoints.observed.shown(), missing),
    });
    const sent: SentCleanUp = {};
    return { session, account, sent };
  };
  let operator = start();
  const step: Scene["step"] = (policy) => {
    const { account, sent } = operator;
    const status = {
      conditions: [],
      endpointID: id,
      ...(seen && generation === "Current" ? { memberID: "member-1" } : {}),
      ...(seen ? {} : { unconfirmedCreates: [{ endpointID: id, keyVersion: `version-of-${KEY}`, time: CREATED }] }),
      ...(deletion === undefined ? {} : { deletion }),
    };
    const input = {
      shared,
      account,
      endpoint: endpointOf({}, { status }),
      endpointID: id,
      entry: undefined,
      recordDeletion: async (next: Deletion) => {
        deletion = next;
      },
      sent,
      checks: { assertCurrent: async () => {}, beforeSend: () => {} },
      context: { signal, log: silentLog },
    };
    return policy === "Delete" ? deleteRemote(input) : scaleToZero(input);
  };
  return {
    id,
    clock,
    step,
    async decided(policy) {
      for (;;) {
        const outcome = await step(policy);
        if (outcome.kind !== "Wait" || !outcome.message.includes("two complete lists")) return outcome;
      }
    },
    becomeForeign() {
      apiKey = FOREIGN_KEY;
      operator.session.keyChanged();
    },
    restart() {
      operator = start();
    },
    probe: () => operator.session.probe(signal),
    deletion: () => deletion,
    updates: async () =>
      (await bench.audit("?operation=updateEndpoint")).map(({ body }) => {
        const { minNum, maxNum } = (body as { workerConfig: { minNum: number; maxNum: number } }).workerConfig;
        return `${minNum}/${maxNum}`;
      }),
  };
}

const erase = (id: string) => bench.ask(`/__state/endpoints/${id}`, { delete: true });

describe("scaling to zero of an endpoint whose timeouts are shown in milliseconds", () => {
  const timeouts = async () => {
    const [{ body } = { body: undefined }] = await bench.audit("?operation=updateEndpoint");
    const { freeTimeout, requestTimeout } = (body as { workerConfig: Record<string, number> }).workerConfig;
    return [freeTimeout, requestTimeout];
  };

  it("sends those of the spec when the account's limits exclude what is shown", async () => {
    const { step, probe } = await scene();
    await probe();
    await bench.configure({ timeoutUnit: "Milliseconds" });
    expect(await step("ScaleToZero")).toMatchObject({ kind: "Done" });
    const { workers } = endpointOf({}).spec;
    expect(await timeouts()).toEqual([workers.idleTimeoutSeconds, workers.requestTimeoutSeconds]);
  });

  it("sends what is shown when the limits allow it", async () => {
    const { step, probe } = await scene();
    await probe();
    expect(await step("ScaleToZero")).toMatchObject({ kind: "Done" });
    const { freeTimeout, requestTimeout } = endpointBody().workerConfig;
    expect(await timeouts()).toEqual([freeTimeout, requestTimeout]);
    expect(requestTimeout).not.toBe(endpointOf({}).spec.workers.requestTimeoutSeconds);
  });
});

describe.each(["Current", "Earlier"] as const)("scaling to zero, generation %s", (generation) => {
  it("is done when a read after the update shows 0/0, and the event names workers that still run", async () => {
    const { id, step, updates } = await scene({ generation });
    expect(await step("ScaleToZero")).toEqual({
      kind: "Done",
      note: { reason: "ScaledToZero", text: `Set the workers of endpoint ${id} to 0/0` },
    });
    expect(await updates()).toEqual(["0/0"]);
  });

  it("is not done by an accepted update without effect: it is repeated with backoff until a read shows 0/0", async () => {
    const { id, clock, step, updates } = await scene({ generation });
    await bench.configure({ updateIgnores: ["workerConfig"] });
    const still = `The service accepted the update of endpoint ${id} to workers 0/0 (min/max), but still shows 1/3`;
    const sentAt: number[] = [];
    for (let second = 0; second < 100; second++) {
      const before = (await updates()).length;
      const outcome = await step("ScaleToZero");
      expect(outcome).toMatchObject({ kind: "Wait", message: expect.stringContaining(still) });
      if ((await updates()).length > before) sentAt.push(second);
      await clock.advance(1_000);
    }
    expect(sentAt).toEqual([0, 10, 30, 70]);
    await bench.configure({ updateIgnores: [] });
    await clock.advance(60_000);
    expect(await step("ScaleToZero")).toMatchObject({ kind: "Done", note: { reason: "ScaledToZero" } });
  });

  it("is done without an update when the workers are 0/0", async () => {
    const { step, updates } = await scene({ generation });
    await step("ScaleToZero");
    expect(await step("ScaleToZero")).toMatchObject({ kind: "Done" });
    expect(await updates()).toEqual(["0/0"]);
  });

  it("ends when the endpoint is gone and the list shows another of the account", async () => {
    const { id, decided, updates } = await scene({ generation, alsoBound: 1 });
    await erase(id);
    expect([await decided("ScaleToZero"), await updates()]).toEqual([{ kind: "Done" }, []]);
  });

  it("is blocked when the list shows none of the account's endpoints: another member's key shows the same", async () => {
    const { id, decided } = await scene({ generation });
    await erase(id);
    expect(await decided("ScaleToZero")).toMatchObject({
      kind: "Blocked",
      reason: "RemoteMissing",
      message: expect.stringContaining("the only endpoint of this account is not shown"),
    });
  });

  it.each(["ScaleToZero", "Delete"] as const)("%s is blocked with the key of another member", async (policy) => {
    const { id, step, decided, becomeForeign, updates } = await scene({ generation, alsoBound: 2 });
    await bench.configure({ updateIgnores: ["*"], deleteDelayMs: 3_600_000 });
    await step(policy); // what was sent with the right key proves nothing about the other one
    const before = await updates();
    becomeForeign();
    expect(await decided(policy)).toMatchObject({
      kind: "Blocked",
      reason: "RemoteMissing",
      message: expect.stringMatching(`^It is not known whether endpoint ${id} still runs: none of the 3 endpoints`),
    });
    expect(await updates()).toEqual(before);
  });
});

describe.each(["Current", "Earlier"] as const)("deleting the account's last endpoint, generation %s", (generation) => {
  it("is done after a restart, because the status shows that the same key saw the endpoint", async () => {
    const { id, step, decided, deletion, restart } = await scene({ generation });
    await step("Delete");
    expect(deletion()).toMatchObject({ endpointID: id, keyVersion: `version-of-${KEY}` });
    restart();
    expect(await decided("Delete")).toEqual({
      kind: "Done",
      note: { reason: "Deleted", text: `Deleted endpoint ${id}` },
    });
  });

  it("is done after a restart, also when the policy was changed to ScaleToZero meanwhile", async () => {
    const { step, decided, restart, updates } = await scene({ generation });
    await step("Delete");
    restart();
    expect([await decided("ScaleToZero"), await updates()]).toEqual([{ kind: "Done" }, []]);
  });

  it("is done after a restart, when the response to the delete was lost", async () => {
    const { step, decided, restart } = await scene({ generation });
    await bench.fault({ kind: "resetAfter", operation: "deleteEndpoint" });
    await expect(step("Delete")).rejects.toMatchObject({ delivery: "Unknown" });
    restart();
    expect(await decided("Delete")).toMatchObject({ kind: "Done", note: { reason: "Deleted" } });
  });

  it("is done after a restart, when the status was written and the delete was not sent", async () => {
    const { step, decided, restart } = await scene({ generation });
    await bench.fault({ kind: "resetBefore", operation: "deleteEndpoint" });
    await expect(step("Delete")).rejects.toThrow();
    restart();
    await step("Delete");
    expect(await decided("Delete")).toMatchObject({ kind: "Done", note: { reason: "Deleted" } });
    expect((await bench.audit("?operation=deleteEndpoint")).filter(({ effect }) => effect !== undefined)).toHaveLength(
      1,
    );
  });

  it("is blocked after a restart with another key, although the status shows that the earlier key saw the endpoint", async () => {
    const { step, decided, becomeForeign, restart } = await scene({ generation });
    await step("Delete");
    becomeForeign();
    restart();
    expect(await decided("Delete")).toMatchObject({ kind: "Blocked", reason: "RemoteMissing" });
  });

  it("is blocked when no key showed the endpoint before it was gone", async () => {
    const { id, decided, deletion } = await scene({ generation });
    await erase(id);
    expect(await decided("Delete")).toMatchObject({ kind: "Blocked", reason: "RemoteMissing" });
    expect(deletion()).toBeUndefined();
  });
});

describe.each(["Current", "Earlier"] as const)("an endpoint that no read has shown, generation %s", (generation) => {
  it.each(["ScaleToZero", "Delete"] as const)(
    "%s is blocked when the key is another one that shows another object's endpoint",
    async (policy) => {
      const s = await scene({ generation, seen: false, foreignBound: true });
      s.becomeForeign();
      expect(await s.decided(policy)).toMatchObject({
        kind: "Blocked",
        reason: "RemoteMissing",
        message: expect.stringMatching(/^Endpoint \S+ was created with another API key .* Put a key that sees/),
      });
    },
  );

  it("is deleted when the key that it was created with shows another endpoint instead", async () => {
    const s = await scene({ generation, seen: false, alsoBound: 1 });
    await erase(s.id);
    expect(await s.decided("ScaleToZero")).toMatchObject({ kind: "Done" });
  });
});

describe("deleting at the service", () => {
  it("records the key again when it changed before the delete is repeated", async () => {
    const { clock, step, deletion, becomeForeign } = await scene({ alsoBound: 1 });
    await bench.configure({ keySees: "Account", deleteDelayMs: 3_600_000 });
    await step("Delete");
    becomeForeign();
    await clock.advance(60_000);
    await step("Delete");
    expect(deletion()?.keyVersion).toBe("version-of-second-key");
  });

  it("is done after two complete lists without the account's last endpoint, which the key showed before", async () => {
    const { id, decided } = await scene();
    expect(await decided("Delete")).toEqual({
      kind: "Done",
      note: { reason: "Deleted", text: `Deleted endpoint ${id}` },
    });
  });

  it("is done when the response to the delete was lost", async () => {
    const { decided } = await scene();
    await bench.fault({ kind: "resetAfter", operation: "deleteEndpoint" });
    await expect(decided("Delete")).rejects.toMatchObject({ delivery: "Unknown" });
    expect(await decided("Delete")).toMatchObject({ kind: "Done", note: { reason: "Deleted" } });
  });

  it("is not done while the service accepts the delete and still shows the endpoint", async () => {
    const { step } = await scene();
    await bench.fault({ kind: "status", operation: "deleteEndpoint", status: 200, probability: 1 });
    for (let i = 0; i < 3; i++) expect(await step("Delete")).toMatchObject({ kind: "Wait" });
  });
});

it.each([
  ["another endpoint", (id: string) => ({ id: `not-${id}`, worker_config: { min_replicas: 0, max_replicas: 0 } })],
  ["no endpoint", () => ({ endpoint: null })],
  ["an empty object", () => ({})],
])("a read that answers with %s proves nothing", async (_name, body) => {
  const { id, step } = await scene();
  await bench.fault({ kind: "status", operation: "getEndpoint", status: 200, body: body(id), probability: 1 });
  for (const policy of ["ScaleToZero", "Delete"] as const) {
    await expect(step(policy)).rejects.toMatchObject({ kind: "UnreadableResponse" });
  }
});
