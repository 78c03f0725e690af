import { describe, expect, it } from "vitest";
import { confirmRestore } from "../../../src/cli/operate/confirm-restore.ts";
import { createRestoreGuard, RESTORE_MARKER } from "../../../src/operator/restore-guard.ts";
import { leaseResource } from "../../../src/runtime/lease.ts";
import { createFakeClock, START, until } from "../../support/fake-clock.ts";
import { failure, scriptedApi, silentLog } from "../../support/scripted-api-server.ts";

const LEASE = { namespace: "mooring", name: "mooring-operator" };
const createdAt = (ms: number) => ({ metadata: { name: "a", creationTimestamp: new Date(ms).toISOString() } });

/** A guard over an API server with a Lease and, after a restore, a marker. */
async function world(options: { marker?: object; fails?: number } = {}) {
  const clock = createFakeClock();
  const api = { lease: "20", marker: options.marker, fails: options.fails ?? 0 };
  const server = await scriptedApi(({ method, path, body }) => {
    if (path.endsWith(LEASE.name)) return { body: { metadata: { ...LEASE, uid: "u", resourceVersion: api.lease } } };
    if (!path.includes("configmaps")) return { body: { metadata: { resourceVersion: "1" }, items: jobs } };
    if (api.fails-- > 0) return failure(500, "InternalError", "etcd is away");
    if (method === "DELETE") {
      api.marker = undefined;
      return { body: {} };
    }
    if (method === "POST" && api.marker !== undefined) return failure(409, "AlreadyExists", "already exists");
    if (method === "POST" || method === "PATCH") {
      const metadata = { name: RESTORE_MARKER, creationTimestamp: new Date(START - 3_600_000).toISOString() };
      api.marker = { metadata, data: (body as { data: object }).data };
    }
    return api.marker === undefined ? failure(404, "NotFound", "not found") : { body: api.marker };
  });
  const jobs: object[] = [];
  const ended: string[] = [];
  const changes: string[] = [];
  const guard = createRestoreGuard({
    client: server.client,
    namespace: "mooring",
    clock,
    log: silentLog,
    onHold: (held) => changes.push(held ? "held" : "free"),
    end: (error) => ended.push(error.message),
  });
  const renew = async (version: string) => {
    api.lease = version;
    await guard.kube.get(leaseResource, LEASE);
  };
  return { guard, clock, api, server, jobs, ended, changes, renew };
}

describe("a restore that is noticed", () => {
  it("holds every object at once, and ends the process when the marker is stored", async () => {
    const w = await world({ fails: 1 });
    await w.renew("20");
    expect(w.guard.heldBy(createdAt(START))).toBeUndefined();
    await w.renew("10");
    expect(w.guard.heldBy(createdAt(START + 60_000))).toMatch(
      /^etcd was restored from a backup \(Lease mooring\/mooring-operator has version 10, earlier than 20, seen before\)\. .*then run: mooring confirm-restore --namespace mooring$/,
    );
    await until(() => w.clock.timers() === 1);
    expect(w.ended).toEqual([]);
    await w.clock.advance(2_000);
    await w.guard.look();
    expect(w.api.marker).toMatchObject({ data: { time: new Date(START).toISOString().replace(".000Z", "Z") } });
    expect(w.ended).toHaveLength(1);
  });

  it("after an earlier one whose marker the backup has gets the later time", async () => {
    const earlier = { metadata: { name: RESTORE_MARKER }, data: { time: "2020-01-01T00:00:00Z" } };
    const w = await world({ marker: earlier });
    await w.renew("20");
    await w.renew("10");
    await w.guard.look();
    await w.guard.open(new AbortController().signal);
    expect(w.guard.heldBy(createdAt(START))).toBeDefined();
  });

  it("is looked for when the lease is lost, until the API server answers", async () => {
    const w = await world();
    await w.renew("20");
    await w.guard.stop();
    w.api.lease = "10";
    await w.guard.look(new AbortController().signal);
    expect(w.api.marker).toBeDefined();
  });
});

describe("a marker", () => {
  const marker = { metadata: { name: RESTORE_MARKER, creationTimestamp: new Date(START).toISOString() } };

  it("is read before the process acts, holds older objects only, and is noticed when it goes", async () => {
    const w = await world({ marker });
    await w.guard.open(new AbortController().signal);
    expect(w.guard.heldBy(createdAt(START))).toMatch(/objects created before .*mooring confirm-restore/);
    expect(w.guard.heldBy(createdAt(START + 1_000))).toBeUndefined();
    w.guard.start();
    w.api.marker = undefined;
    await w.clock.advance(5_000);
    await expect.poll(() => w.guard.heldBy(createdAt(START))).toBeUndefined();
    expect(w.changes).toEqual(["held", "free"]);
    await w.guard.stop();
  });

  it("is deleted by `mooring confirm-restore`, which lists what is sent then", async () => {
    const w = await world({ marker });
    const job = (name: string, status: object) => ({
      metadata: { ...createdAt(START - 1).metadata, name, namespace: "team-a" },
      spec: {},
      status,
    });
    w.jobs.push(
      job("waits", { phase: "Pending", endpointID: "e" }),
      job("paid", { phase: "Running", endpointID: "e" }),
    );
    const lines: string[] = [];
    const options = { namespace: "mooring", namespaces: [], print: (line: string) => void lines.push(line) };
    await confirmRestore(w.server.client, { ...options, dryRun: true });
    expect(w.api.marker).toBeDefined();
    await confirmRestore(w.server.client, { ...options, dryRun: false });
    expect(w.api.marker).toBeUndefined();
    expect(lines.join("\n")).toContain("  SpeechJob team-a/waits, created ");
    expect(lines.join("\n")).not.toContain("team-a/paid");
    expect(lines.at(-1)).toBe("The requests of 2 objects may be sent from now on");
    await expect(confirmRestore(w.server.client, { ...options, dryRun: false })).rejects.toThrow(
      "ConfigMap mooring/mooring-etcd-restored is not there",
    );
  });
});
