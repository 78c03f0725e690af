import { describe, expect, it } from "vitest";
import { recreationOf, type UnconfirmedCreate } from "../../../../src/controllers/gpu-endpoint/recreation.ts";
import type { Bench } from "../../simulator/start.ts";
import { reconciledEndpoint } from "./world.ts";

const MINUTE_MS = 60_000;
const T0 = Date.parse("2026-03-01T00:00:00Z");
const at = (minutes: number) => new Date(T0 + minutes * MINUTE_MS).toISOString().replace(".000", "");
const accepted = (endpointID: string, minutes: number): UnconfirmedCreate => ({ endpointID, time: at(minutes) });
const lost = (minutes: number): UnconfirmedCreate => ({ time: at(minutes) });

describe("another create, while earlier ones are unconfirmed", () => {
  it.each<{ name: string; creates: UnconfirmedCreate[]; minutes: number; kind: string; againMinutes?: number }>([
    { name: "none", creates: [], minutes: 0, kind: "Allowed" },
    { name: "one accepted", creates: [accepted("a", 0)], minutes: 1, kind: "Wait", againMinutes: 4 },
    { name: "one accepted, 5 minutes later", creates: [accepted("a", 0)], minutes: 5, kind: "Allowed" },
    { name: "two accepted", creates: [accepted("a", 0), accepted("b", 5)], minutes: 6, kind: "Wait", againMinutes: 9 },
    {
      name: "three accepted, however long ago",
      creates: [accepted("a", 0), accepted("b", 5), accepted("c", 15)],
      minutes: 10_000,
      kind: "Stop",
    },
    { name: "one lost", creates: [lost(0)], minutes: 1, kind: "Allowed" },
    { name: "three lost", creates: [lost(0), lost(1), lost(3)], minutes: 4, kind: "Wait", againMinutes: 3 },
    {
      name: "seven lost",
      creates: Array.from({ length: 7 }, () => lost(0)),
      minutes: 0,
      kind: "Wait",
      againMinutes: 60,
    },
    { name: "eight lost", creates: Array.from({ length: 8 }, () => lost(0)), minutes: 10_000, kind: "Stop" },
    {
      name: "one accepted and one lost",
      creates: [accepted("a", 0), lost(5)],
      minutes: 9,
      kind: "Wait",
      againMinutes: 1,
    },
  ])("$name: $kind", ({ creates, minutes, kind, againMinutes }) => {
    const recreation = recreationOf(creates, "kubectl annotate", T0 + minutes * MINUTE_MS);
    expect(recreation.kind).toBe(kind);
    if (recreation.kind === "Wait") expect(recreation.againMs).toBe((againMinutes ?? 0) * MINUTE_MS);
  });

  it("names what was created when, and the command, within the length of a condition's message", () => {
    const long = "x".repeat(255);
    const creates = [accepted(long, 0), accepted("ep-2", 5), lost(10), accepted("ep-3", 15)];
    const recreation = recreationOf(creates, `kubectl annotate ${"n".repeat(320)}`, T0);
    const message = "message" in recreation ? recreation.message : "";
    expect(message).toContain(`kubectl annotate ${"n".repeat(320)}`);
    expect(message).toContain("ep-2 (2026-03-01T00:05:00Z), ID unknown (2026-03-01T00:10:00Z), ep-3");
    expect(message.length).toBeLessThanOrEqual(1_024);
  });
});

describe("a service that accepts creates and shows no endpoint", () => {
  /** Takes no effect, and returns a new ID each time. */
  const acceptOnly = (bench: Bench) =>
    bench.fault(
      ...Array.from({ length: 50 }, (_, index) => ({
        operation: "createEndpoint",
        kind: "status" as const,
        status: 200,
        body: { id: `lost-${index + 1}` },
      })),
    );
  const creates = async (bench: Bench) => (await bench.audit("?operation=createEndpoint")).length;

  it("gets three creates with growing pauses; then the object is Stalled with the list and a command", async () => {
    const world = await reconciledEndpoint();
    await acceptOnly(world.bench);
    const sentAfterMinutes: number[] = [];
    for (let minute = 0; minute < 60; minute++) {
      const before = await creates(world.bench);
      await world.reconcileFor(MINUTE_MS);
      await world.list();
      if ((await creates(world.bench)) > before) sentAfterMinutes.push(minute);
      if (minute === 20) world.restart(); // the count is in the status
    }
    expect(sentAfterMinutes).toHaveLength(3);
    const [first = 0, second = 0, third = 0] = sentAfterMinutes;
    expect(second - first).toBeGreaterThanOrEqual(5);
    expect(third - second).toBeGreaterThanOrEqual(10);
    expect(world.conditions()).toEqual(expect.arrayContaining(["Stalled=True/RemoteMissing"]));
    const stalled = world.status().conditions.find(({ type }) => type === "Stalled");
    expect(stalled?.message).toMatch(/lost-1 \(2026-03-01T.*lost-2 \(2026-03-01T.*lost-3 \(2026-03-01T/);
    expect(stalled?.message).toContain("kubectl annotate gpuendpoint -n team echo mooring.dev/reconcile-requested-at=");
    expect(world.status().unconfirmedCreates).toHaveLength(3);
  });

  it("gets another create when a user asks for it, and the count starts over", async () => {
    const world = await reconciledEndpoint();
    await acceptOnly(world.bench);
    for (let minute = 0; minute < 40; minute++) {
      await world.reconcileFor(MINUTE_MS);
      await world.list();
    }
    expect(await creates(world.bench)).toBe(3);
    world.annotate({ "mooring.dev/reconcile-requested-at": "now" });
    await world.reconcile();
    expect(await creates(world.bench)).toBe(4);
    expect(world.status().unconfirmedCreates).toMatchObject([{ endpointID: "lost-4" }]);
  });

  it("that shows the endpoint late ends the count", async () => {
    const world = await reconciledEndpoint();
    await world.bench.fault({
      operation: "getEndpoint",
      kind: "status",
      status: 404,
      body: { code: 404, reason: "RESOURCE_NOT_FOUND", message: "no", metadata: {} },
      times: 3,
    });
    await world.reconcile();
    expect(world.status().unconfirmedCreates).toHaveLength(1);
    await world.reconcileFor(5 * MINUTE_MS);
    expect(world.status()).not.toHaveProperty("unconfirmedCreates");
    expect(await creates(world.bench)).toBe(1);
  });
});
