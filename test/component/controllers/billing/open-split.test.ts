import { describe, expect, it } from "vitest";
import { openSplit, readNamespaceCreated } from "../../../../src/controllers/billing/open-split.ts";
import type { Usage } from "../../../../src/controllers/billing/usage.ts";
import { timeZone } from "../../../../src/provider/money/time-zone.ts";
import { billOf, seconds } from "../../../support/bills.ts";
import { scriptedApi } from "../../../support/scripted-api-server.ts";

const { signal } = new AbortController();
const used = (change: Partial<Usage> = {}): Usage => ({
  account: "ClusterAccount/default",
  namespace: "team",
  object: "GpuEndpoint/chat",
  created: seconds("2026-01-01T06:00:00Z"),
  meter: "product/product-1",
  day: "2026-01-02",
  quantity: 10,
  requests: 0,
  ...change,
});

/** How one bill of all January is split. `created`: of the namespace `team`. */
async function split(usage: Usage[], created: string | undefined, zone = "UTC") {
  const request = {
    account: "ClusterAccount/default",
    settings: {},
    zone: timeZone(zone),
    range: { startTime: seconds("2026-01-01T00:00:00Z"), endTime: seconds("2026-02-01T00:00:00Z") },
  };
  const sources = {
    ledger: { read: async () => usage },
    namespaceCreated: async () => (created === undefined ? undefined : seconds(created)),
  };
  const opened = await openSplit(request, sources, signal);
  const quantity = usage.reduce((sum, one) => sum + one.quantity, 0);
  opened.add(
    billOf({
      amount: String(quantity),
      startTime: String(seconds("2026-01-01T00:00:00Z")),
      endTime: String(seconds("2026-01-31T00:00:00Z")),
    }),
  );
  const { shares, unattributed } = opened.result();
  const named = Object.fromEntries(shares("Namespace").map(({ namespace, amount }) => [namespace, Number(amount)]));
  return { ...named, unattributed: Number(unattributed) };
}

describe("the usage of a namespace", () => {
  it.each([
    { name: "is its own since its creation", created: "2025-12-01T00:00:00Z", shares: { team: 10 } },
    { name: "is that of an object that was created with it", created: "2026-01-01T06:00:00Z", shares: { team: 10 } },
    {
      name: "is none of an earlier namespace with its name",
      created: "2026-01-03T00:00:00Z",
      shares: { "team (deleted)": 10 },
    },
    {
      name: "is none of an earlier namespace on the day of its own creation",
      created: "2026-01-02T09:00:00Z",
      shares: { "team (deleted)": 10 },
    },
    {
      name: "is all usage of the days after its creation, whatever the clocks of the API servers say",
      created: "2026-01-01T06:00:01Z",
      shares: { team: 10 },
    },
    { name: "that does not exist any more has its own line", created: undefined, shares: { "team (deleted)": 10 } },
  ])("$name", async ({ created, shares }) => {
    expect(await split([used()], created)).toEqual({ ...shares, unattributed: 0 });
  });

  it("has the objects that the ledger does not tell apart from the day after its creation", async () => {
    const folded = { object: "", created: 0 };
    const usage = [used({ ...folded, day: "2026-01-01", quantity: 1 }), used({ ...folded, quantity: 5 })];
    const shares = { team: 5, "team (deleted)": 1, unattributed: 0 };
    expect(await split(usage, "2026-01-01T00:00:01Z")).toEqual(shares);
  });

  it("begins on the day of its creation by the clock of the bills", async () => {
    const earlier = used({ created: 1, day: "2026-01-02" });
    expect(await split([earlier], "2026-01-01T20:00:00Z", "UTC")).toMatchObject({ team: 10 });
    expect(await split([earlier], "2026-01-01T20:00:00Z", "Asia/Shanghai")).toMatchObject({ "team (deleted)": 10 });
  });

  it("of nobody stays unattributed", async () => {
    expect(await split([used({ namespace: "", object: "", created: 0 })], undefined)).toEqual({ unattributed: 10 });
  });
});

it("the creation of a namespace is read from the API server each time", async () => {
  const { client, requests } = await scriptedApi(({ path }) =>
    path === "/api/v1/namespaces/team"
      ? { body: { metadata: { name: "team", creationTimestamp: "2026-01-01T06:00:00Z" } } }
      : { status: 404, body: { reason: "NotFound" } },
  );
  const read = readNamespaceCreated(client);
  expect(await read("team", signal)).toBe(seconds("2026-01-01T06:00:00Z"));
  expect(await read("team", signal)).toBe(seconds("2026-01-01T06:00:00Z"));
  expect(await read("gone", signal)).toBeUndefined();
  expect(requests).toHaveLength(3);
});
