import { describe, expect, it } from "vitest";
import { namedObject } from "../../../../src/cli/kind-argument.ts";
import { rendered, type ShownObject, sorted } from "../../../../src/cli/use/status.ts";

const NOW = Date.parse("2026-11-22T02:00:00Z");
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

  it.each([
    { format: "name" as const, text: "speechjob.mooring.dev/hello\n" },
    { format: "json" as const, text: `${JSON.stringify({ items: [halted] }, null, 4)}\n` },
  ])("prints $format", ({ format, text }) => expect(rendered([halted], format, NOW)).toBe(text));

  it("says that there is nothing", () => expect(rendered([], "table", NOW)).toBe("no objects\n"));
});

describe("an object as an argument", () => {
  it.each([
    { argument: "speechjob/hello", kind: "SpeechJob" },
    { argument: "SpeechJobs/hello", kind: "SpeechJob" },
    { argument: "gpuep/hello", kind: "GpuEndpoint" },
    { argument: "clusteraccount.mooring.dev/hello", kind: "ClusterAccount" },
  ])("$argument is a $kind", ({ argument, kind }) => {
    expect(namedObject(argument)).toMatchObject({ name: "hello", resource: { kind } });
  });

  it.each([
    { argument: "hello", message: '"hello" does not name an object: write KIND/NAME' },
    { argument: "pod/a/b", message: '"pod/a/b" does not name an object: write KIND/NAME' },
    {
      argument: "pod/hello",
      message:
        '"pod" is not a kind of Mooring: use one of gpuendpoint, speechjob, videojob, account, clusteraccount, billreport, artifactstore',
    },
  ])("$argument is refused", ({ argument, message }) => {
    expect(() => namedObject(argument)).toThrow(message);
  });
});
