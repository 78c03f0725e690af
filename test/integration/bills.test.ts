import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { manifest } from "../support/manifests.ts";
import {
  type AnyObject,
  API_KEY,
  BUNDLE,
  createWorld,
  type Operator,
  type World,
  waitForCondition,
} from "../support/world.ts";

const charge = (time: string, amount: number, more: Record<string, unknown> = {}) => ({
  time,
  amount,
  productName: "Model A",
  category: "llm",
  unitPrice: 12_345,
  ...more,
});
const CHARGES = [
  charge("2026-01-01T00:00:00Z", 1),
  charge("2026-01-31T23:59:59Z", 20),
  charge("2026-02-28T23:59:59Z", 4_000, { voucher: 1_500, unitPrice: 7, llmSeries: "series-4" }),
  charge("2026-03-01T00:00:00Z", 50_000, { key: 1 }),
  charge("2026-03-31T23:59:59Z", 600_000),
];
const QUARTER = { lastDays: null, startTime: "2026-01-01T00:00:00Z", endTime: "2026-04-01T00:00:00Z" };

let world: World;
let operator: Operator;
beforeAll(async () => {
  world = await createWorld("bills", { account: { billing: { interval: "1s", settleTime: "1s" } } });
  await world.control("POST", "/__state/charges", CHARGES);
  operator = await world.startOperator();
});

describe("mooring bills", () => {
  const period = ["--start-time=2026-01-01T00:00:00Z", "--end-time=2026-04-01T00:00:00Z", "--product-name=Model A"];
  const mooring = async (args: string[], env: Record<string, string> = {}) =>
    promisify(execFile)(process.execPath, [BUNDLE, "bills", ...args], { env: { ...process.env, ...env } });
  const ofCluster = () => [`--kubeconfig=${inject("kubeconfig")}`, `--namespace=${world.namespace}`];

  it("prints the tables of the namespace's account", async () => {
    const { stdout } = await mooring([...ofCluster(), ...period]);
    expect(stdout).toContain(`${world.simulator.url}: 2026-01-01T00:00:00Z to 2026-04-01T00:00:00Z (UTC), in yuan`);
    expect(stdout.split("\n\n")[2]).toBe(
      [
        "PRODUCT   ID           AMOUNT   VOUCHER      PAID   BILLS",
        "Model A   product-1   65.4021    0.1500   65.2521       5",
      ].join("\n"),
    );
    expect(stdout).toMatch(/^llm +65\.4021/m);
  });

  it("takes a day for its midnight by the clock of the bills, and says when there are no bills", async () => {
    const args = ["--start-time=2026-03-01", "--end-time=2026-03-02", "--time-zone=+08:00", "--product-name=nothing"];
    const { stdout } = await mooring([...ofCluster(), ...args]);
    expect(stdout).toBe(
      `${world.simulator.url}: 2026-02-28T16:00:00Z to 2026-03-01T16:00:00Z (+08:00), in yuan\nno bills\n`,
    );
  });

  it("prints the same file as the export, from the service itself", async () => {
    await world.apply(
      manifest("bill", { ...QUARTER, productName: "Model A", exportTo: { configMap: { name: "llm" } } }, "llm"),
    );
    await waitForCondition(world, "BillReport", "llm", "Ready");
    const args = [`--base-url=${world.simulator.url}`, ...period];
    const { stdout } = await mooring([...args, "--output=csv"], { MOORING_API_KEY: API_KEY });
    expect(stdout).toBe(dataOf(await world.get("ConfigMap", "llm"))["bills.csv"]);
    const json = await mooring([...args, "--output=json"], { MOORING_API_KEY: API_KEY });
    const { status } = await world.get("BillReport", "llm");
    expect(JSON.parse(json.stdout)).toMatchObject({ totals: status?.totals as object, byKey: status?.byKey as object });
  });

  it.each([
    { name: "a missing account", args: () => [...ofCluster(), "--account=nobody"], message: /does not exist/ },
    {
      name: "a period before the first bill",
      args: () => ["--base-url=http://127.0.0.1:9", "--start-time=2025-01-01T00:00:00Z"],
      message: /startTime must not be before 2026-01-01/,
    },
    {
      name: "no time at all",
      args: () => [...ofCluster(), "--start-time=yesterday"],
      message: /^mooring: startTime must be a time[^;]*$/,
    },
    {
      name: "a day that does not exist",
      args: () => [...ofCluster(), "--start-time=2026-02-30"],
      message: /^mooring: startTime 2026-02-30 is no day of the calendar: use an existing day$/m,
    },
    {
      name: "a time zone that is none",
      args: () => [...ofCluster(), "--time-zone=Mars"],
      message: /"Mars" is not a time zone/,
    },
  ])("$name is one line", async ({ args, message }) => {
    const failed = await mooring(args(), { MOORING_API_KEY: API_KEY }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(message) });
    expect((failed as { stderr: string }).stderr.trim().split("\n")).toHaveLength(1);
  });
});

function dataOf(object: AnyObject): Record<string, string> {
  return (object as AnyObject & { data?: Record<string, string> }).data ?? {};
}

it("mooring bills --by=object shows what a report with splitBy shows, while no operator runs", async () => {
  const split = async (name: string) => {
    const spec = { lastDays: 1, productName: "vid-i2v", splitBy: "Object", keyIDs: null };
    await world.apply(manifest("bill", spec, name));
    return (await waitForCondition(world, "BillReport", name, "Ready")).status;
  };
  await world.control("POST", "/__state/charges", [
    charge(new Date().toISOString(), 777, { productName: "vid-i2v", productID: "other-product" }),
  ]);
  await world.apply(manifest("image", {}, "split-video"));
  await waitForCondition(world, "VideoJob", "split-video", "Complete");
  const expected = {
    by: "Object",
    scope: "All",
    lines: [{ namespace: world.namespace, kind: "VideoJob", name: "split-video" }],
  };
  const first = await split("split-before");
  expect(first).toMatchObject({ split: expected });
  expect(first?.totals).toMatchObject({ amount: String(sumOf(first?.split)) });

  await operator.stop();
  const place = `--operator-namespace=${world.namespace}`;
  const args = ["bills", `--kubeconfig=${inject("kubeconfig")}`, `--namespace=${world.namespace}`, place];
  const filters = ["--last-days=1", "--product-name=vid-i2v", "--by=object"];
  const { stdout } = await promisify(execFile)(process.execPath, [BUNDLE, ...args, ...filters]);
  expect(stdout).toMatch(new RegExp(`^${world.namespace} +VideoJob/split-video +[0-9TZ:-]+ +[0-9.]+$`, "m"));
});

/** Sums of a few yuan, with four decimals, are exact enough as numbers. */
function sumOf(split: unknown): number {
  const { lines, unattributed } = split as { lines: { amount: string }[]; unattributed: string };
  const units = [...lines.map(({ amount }) => amount), unattributed].map((yuan) => Math.round(Number(yuan) * 10_000));
  return units.reduce((sum, value) => sum + value, 0) / 10_000;
}
