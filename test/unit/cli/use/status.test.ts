import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { type Format, rendered as render, type ShownObject, sorted } from "../../../../src/cli/use/status/rows.ts";

const NOW = Date.parse("2026-11-22T02:00:00Z");
const rendered = (objects: readonly ShownObject[], format: Format, now: number, colors = false) =>
  render(objects, { format, now, colors });
const shown = (change: Partial<ShownObject>): ShownObject => ({
  kind: "GpuEndpoint",
  namespace: "team",
  name: "echo",
  created: "2026-11-22T00:00:00Z",
  state: "Ready",
  reason: "Serving",
  message: "The remote endpoint serves",
  since: "2026-11-22T01:00:00Z",
  needsUser: false,
  progress: {},
  ...change,
});
const halted = shown({
  kind: "SpeechJob",
  name: "hello",
  state: "Halted",
  reason: "SubmissionUnknown",
  message: `unknown\n${"x".repeat(100)}`,
  needsUser: true,
});
const account = shown({ kind: "ClusterAccount", namespace: "", name: "default", reason: "Connected" });

describe("mooring status", () => {
  it("lists what needs a user first, then by namespace, kind and name", () => {
    const others = [shown({ name: "b" }), shown({ name: "a" }), shown({ kind: "VideoJob" }), account];
    expect(sorted([...others, halted]).map(({ kind, name }) => `${kind}/${name}`)).toEqual([
      "SpeechJob/hello",
      "ClusterAccount/default",
      "GpuEndpoint/a",
      "GpuEndpoint/b",
      "VideoJob/echo",
    ]);
  });

  it("shortens a message in a table, shows it on one line with -o wide, and says where to go on", () => {
    const objects = [halted, shown({})];
    const [heading, first, second, , last] = rendered(objects, "table", NOW).split("\n");
    expect(heading).toMatch(/^NAMESPACE {3}OBJECT +STATE +REASON +AGE +MESSAGE$/);
    expect(first).toMatch(/^team +SpeechJob\/hello +Halted +SubmissionUnknown +2h +unknown\\nx{70}…$/);
    expect(second).toMatch(/^team +GpuEndpoint\/echo +Ready +Serving +2h +The remote endpoint serves$/);
    expect(last).toBe("2 objects, 1 needs you. Start with: mooring explain speechjob/hello -n team");
    expect(rendered(objects, "wide", NOW)).toContain("x".repeat(100));
  });

  it("names the process that serves an account, with -o wide", () => {
    const served = { ...account, server: "mooring-system/mooring-6f-x2-0a1b2c3d" };
    const [heading, first, second] = rendered([served, shown({})], "wide", NOW).split("\n");
    expect(heading).toMatch(/REMOTE ID +SERVER +MESSAGE$/);
    expect(first).toMatch(/2h .* mooring-system\/mooring-6f-x2-0a1b2c3d +The remote/);
    expect(second).toMatch(/2h .* - +The remote/);
    expect(rendered([served], "table", NOW)).not.toContain("0a1b2c3d");
  });

  it.each([
    { format: "name" as const, text: "speechjob.mooring.dev/hello\n" },
    { format: "json" as const, text: `${JSON.stringify({ items: [halted] }, null, 4)}\n` },
  ])("prints $format", ({ format, text }) => expect(rendered([halted], format, NOW)).toBe(text));

  it("shows progress, times, costs and what the service calls it with -o wide", () => {
    const running = shown({
      kind: "VideoJob",
      state: "Running",
      progress: { percent: 40, elapsedSeconds: 72, leftSeconds: 108 },
      cost: { yuan: "0.3", per: "job" },
      account: "ClusterAccount/default",
      remoteID: "task-1",
    });
    const endpoint = shown({ progress: { workers: { ready: 1, max: 3 } }, cost: { yuan: "12.5", per: "month" } });
    const [heading, first, second] = rendered([running, endpoint], "wide", NOW).split("\n");
    expect(heading).toMatch(/AGE +PROGRESS +ELAPSED +LEFT +COST +ACCOUNT +REMOTE ID +MESSAGE$/);
    expect(first).toMatch(/Running +Serving +2h +40 % +1m12s +1m48s +0\.3 +ClusterAccount\/default +task-1 +The/);
    expect(second).toMatch(/Ready +Serving +2h +1\/3 workers +- +- +12\.5\/month +- +- +The/);
  });

  it("colors the state, and aligns columns as without colors", () => {
    const objects = [halted, shown({}), shown({ state: "Reconciling" })];
    const colored = rendered(objects, "table", NOW, true);
    expect(colored).toContain("\u001b[31mHalted\u001b[39m");
    expect(colored).toContain("\u001b[32mReady\u001b[39m");
    expect(colored).toContain("\u001b[36mReconciling\u001b[39m");
    expect(stripVTControlCharacters(colored)).toBe(rendered(objects, "table", NOW));
  });

  it("says that there is nothing", () => expect(rendered([], "table", NOW)).toBe("no objects\n"));
});
