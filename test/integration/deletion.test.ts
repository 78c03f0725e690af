import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import {
  type AnyObject,
  condition,
  createWorld,
  eventually,
  type World,
  type WorldOptions,
  waitForCondition,
} from "../support/world.ts";

const POLICIES = ["ScaleToZero", "Retain", "Delete"] as const;
const HISTORIES = ["serves", "is suspended", "was never created", "is gone from the service"] as const;
type Policy = (typeof POLICIES)[number];
type History = (typeof HISTORIES)[number];
type AccountCase = "works" | "works and deletes" | "is refused";

/** What deleting leads to: the calls that change something at the service, and the reason that the object stays with. */
type Expected = { calls: string[]; stays?: string };
const GOES: Expected = { calls: [] };

/** The first row that fits holds; `*` is any. Whether the object is paused never makes a difference. */
const MATRIX: [policy: Policy | "*", history: History | "*", account: AccountCase | "*", expected: Expected][] = [
  ["Retain", "*", "*", GOES],
  ["*", "was never created", "*", GOES],
  ["*", "*", "is refused", { calls: [], stays: "AccountNotReady" }],
  ["*", "is gone from the service", "*", GOES],
  ["ScaleToZero", "is suspended", "*", GOES],
  ["ScaleToZero", "serves", "*", { calls: ["updateEndpoint 0/0"] }],
  ["Delete", "*", "works", { calls: [], stays: "DeleteNotConfigured" }],
  ["Delete", "*", "works and deletes", { calls: ["deleteEndpoint"] }],
];

const deleteOperation = { method: "DELETE", path: "/gpus/v2/endpoints/{id}" } as const;
const ACCOUNTS: Record<AccountCase, WorldOptions> = {
  // One sweep and no second one: what is gone from the service is not made again while the test lasts.
  works: { account: { endpoints: { syncInterval: "1h" } } },
  "works and deletes": {
    account: { endpoints: { syncInterval: "1h", deleteOperation } },
    simulator: { deleteOperation, deleteDelayMs: 20_000 },
  },
  "is refused": { account: { endpoints: { syncInterval: "1h" } } },
};

type Case = { name: string; policy: Policy; history: History; paused: boolean; expected: Expected };

const casesOf = (account: AccountCase): Case[] =>
  POLICIES.flatMap((policy) =>
    HISTORIES.flatMap((history) =>
      [false, true].map((paused) => {
        const row = MATRIX.find(
          ([p, h, a]) => ["*", policy].includes(p) && ["*", history].includes(h) && ["*", account].includes(a),
        );
        if (row === undefined) throw new Error(`the matrix lacks ${policy}, ${history}, ${account}`);
        const name = `${policy}-${HISTORIES.indexOf(history)}-${paused ? "paused" : "live"}`.toLowerCase();
        return { name, policy, history, paused, expected: row[3] };
      }),
    ),
  );

const idOf = (object: AnyObject) => String(object.status?.["endpointID"]);
const changes = async (world: World) =>
  (await world.audit()).filter(({ operation }) => /^(create|update|delete)/.test(operation));

async function create(world: World, { name, policy, history }: Case): Promise<string | undefined> {
  const never = history === "was never created";
  const spec = {
    deletionPolicy: policy,
    suspend: history === "is suspended",
    ...(never ? { workers: { gpus: 64 } } : {}),
  };
  await world.apply(manifest("endpoint", spec, name));
  if (never) {
    await waitForCondition(world, "GpuEndpoint", name, "Stalled");
    return undefined;
  }
  const bound = await waitForCondition(world, "GpuEndpoint", name, history === "is suspended" ? "Stopped" : "Ready");
  return idOf(bound);
}

describe.each(Object.keys(ACCOUNTS) as AccountCase[])("an endpoint is deleted whose account %s", (account) => {
  const cases = casesOf(account);
  const ids = new Map<string, string | undefined>();
  let world: World;

  beforeAll(async () => {
    world = await createWorld("deletion", ACCOUNTS[account]);
    await world.startOperator();
    await Promise.all(cases.map(async (one) => ids.set(one.name, await create(world, one))));
    await Promise.all(
      cases.map(async ({ name, history }) => {
        if (history !== "is gone from the service") return;
        await world.control("POST", `/__state/endpoints/${ids.get(name)}`, { delete: true });
        await ageSubmission(world, name);
      }),
    );
    if (account === "is refused") {
      await world.control("POST", "/__config", { apiKeys: ["another-key"] });
      await world.patch("Account", "default", {
        metadata: { annotations: { "mooring.dev/reconcile-requested-at": "now" } },
      });
      await waitForCondition(world, "Account", "default", "Authenticated", "False");
    }
    await Promise.all(
      cases
        .filter(({ paused }) => paused)
        .map(({ name }) =>
          world.patch("GpuEndpoint", name, { metadata: { annotations: { "mooring.dev/paused": "true" } } }),
        ),
    );
    await world.control("DELETE", "/__audit");
    await Promise.all(cases.map(({ name }) => world.remove("GpuEndpoint", name)));
  });

  it.each(cases)("policy $policy, the endpoint $history, paused $paused", async ({ name, expected }) => {
    const left = await settled(world, name);
    const id = ids.get(name);
    const calls = (await changes(world))
      .filter((entry) => id !== undefined && entry.id === id)
      .map(({ operation, body }) => (operation === "updateEndpoint" ? `${operation} ${scaleOf(body)}` : operation));
    expect({ calls, stays: left?.reason }).toEqual({ calls: expected.calls, stays: expected.stays });
    if (left !== undefined) expect(left.message).toContain(line(world, name));
  });

  it("nothing else was changed at the service, and what was never created was never asked for", async () => {
    await Promise.all(cases.map(({ name }) => settled(world, name)));
    const wanted = cases.flatMap(({ name, expected }) => expected.calls.map(() => ids.get(name))).sort();
    expect((await changes(world)).map(({ id }) => id).sort()).toEqual(wanted);
  });

  it("the line that a condition shows lets the object go, without a call", async () => {
    const stuck = cases.filter(({ expected }) => expected.stays !== undefined);
    await Promise.all(stuck.map(({ name }) => settled(world, name)));
    const before = (await changes(world)).length;
    await Promise.all(
      stuck.map(async ({ name }) => {
        const { message } = (await settled(world, name)) ?? { message: "" };
        await run(message.slice(message.indexOf("kubectl ")));
      }),
    );
    await eventually("all are gone", async () => (await world.list("GpuEndpoint")).length === 0);
    expect((await changes(world)).length).toBe(before);
  });
});

/** Waits until an object that is being deleted is gone, or says why it stays. */
async function settled(world: World, name: string): Promise<{ reason: string; message: string } | undefined> {
  return eventually(`${name} goes or stalls`, async () => {
    const object = (await world.list("GpuEndpoint")).find(({ metadata }) => metadata.name === name);
    if (object === undefined) return { gone: true } as const;
    const stalled = condition(object, "Stalled");
    // What was never created is stalled from the beginning.
    return stalled !== undefined && stalled.reason !== "OutOfRange" && { gone: false, ...stalled };
  }).then((seen) => (seen.gone ? undefined : seen));
}

/** As if the endpoint had been created long ago: the absence of a new one proves nothing yet. */
async function ageSubmission(world: World, name: string): Promise<void> {
  const kubectl = ["-n", world.namespace, "patch", "gpuendpoint", name, "--subresource=status", "--type=merge"];
  await run(["kubectl", ...kubectl, "-p", '{"status":{"submission":{"time":"2026-01-01T00:00:00Z"}}}']);
}

const line = (world: World, name: string) =>
  `kubectl annotate gpuendpoint -n ${world.namespace} ${name} mooring.dev/deletion-policy=Retain --overwrite`;

function scaleOf(body: Record<string, unknown> = {}): string {
  const { minNum, maxNum } = body["workerConfig"] as { minNum: number; maxNum: number };
  return `${minNum}/${maxNum}`;
}

/** Runs a kubectl command as it is printed. */
async function run(command: string | string[]): Promise<void> {
  const [program, ...args] = typeof command === "string" ? command.split(" ") : command;
  expect(program).toBe("kubectl");
  await promisify(execFile)(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), ...args]);
}
