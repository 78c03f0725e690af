import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createByHand, tools } from "../support/command-line.ts";
import { oddEndpoints } from "../support/odd-endpoints.ts";
import { condition, createWorld, eventually, type World } from "../support/world.ts";

const COUNT = 50;
/** Of these, some hold values that a GpuEndpoint leaves to the service: an update with them would be refused. */
const PLAIN = COUNT - 5;
const folders: string[] = [];

afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "mooring-import-"));
  folders.push(path);
  return path;
}

/** What each endpoint is; no environment is an empty one. */
async function parametersByID(world: World): Promise<Map<string, Parameters>> {
  const { endpoints } = await world.state();
  return new Map(endpoints.map(({ id, parameters }) => [String(id), { envs: [], ...(parameters as Parameters) }]));
}
type Parameters = Record<string, unknown> & { workerConfig: object };

async function setFull(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const text = await readFile(join(directory, name), "utf8");
    await writeFile(join(directory, name), text.replace("managementPolicy: Observe", "managementPolicy: Full"));
  }
}

describe.concurrent.each([
  { generation: "Current", env: "secret", sweep: "listEndpoints", seed: 11 },
  { generation: "Earlier", env: "inline", sweep: "listEndpointsEarlier", seed: 12 },
])(`${COUNT} varied endpoints, generation $generation, env $env`, ({ generation, env, sweep, seed }) => {
  it("are imported, applied and switched to Full without one update", async () => {
    const world = await createWorld("import", { seed, account: { endpoints: { generation, syncInterval: "1s" } } });
    const { mooring, kubectl } = tools(world);
    for (const { create: body, patch } of oddEndpoints(COUNT)) {
      const id = await createByHand(world, body);
      if (patch !== undefined) await world.control("POST", `/__state/endpoints/${id}`, patch);
    }
    const hopeless = await createByHand(world, {
      ...oddEndpoints(1)[0]?.create,
      name: "no image",
      appName: "no-image",
    });
    await world.control("POST", `/__state/endpoints/${hopeless}`, { image: { image: "" } });
    const before = await parametersByID(world);

    const out = await folder();
    const imported = await mooring("import", "--account", "default", "--env", env, "--out", out);
    expect(imported.code, imported.stderr).toBe(3);
    expect(imported.stdout).toBe("");
    const told = imported.stderr.trim().split("\n");
    expect(told.at(-1)).toContain(`${COUNT} written to ${out}`);
    expect(told.at(-1)).toContain("1 not written");
    // A name of 0 characters comes five times among the fifty.
    expect(
      told
        .slice(0, -1)
        .map((line) => /^endpoint [0-9a-f]{16} .*": (\w+): /.exec(line)?.[1])
        .sort(),
    ).toEqual(["appName", "command", "env", "image", "name", "name", "name", "name", "name", "name", "port"].sort());
    const files = (await readdir(out)).sort();
    expect(files.filter((name) => !name.endsWith(".secret.yaml"))).toHaveLength(COUNT);
    for (const name of files.filter((file) => file.endsWith(".secret.yaml"))) {
      expect((await stat(join(out, name))).mode & 0o777).toBe(0o600);
    }

    const applied = await kubectl("apply", "--server-side", "-f", out);
    expect(applied).toMatchObject({ code: 0, stderr: "" });
    await world.startOperator();
    const settled = (what: string) =>
      eventually(
        what,
        async () => {
          const objects = await world.list("GpuEndpoint");
          const waiting = objects.filter(
            (object) =>
              object.status?.["observedGeneration"] !== object.metadata.generation ||
              condition(object, "Synced")?.status !== "True",
          );
          if (waiting.length > 0) throw new Error(JSON.stringify(waiting.map(({ status }) => status?.["drift"])));
          return objects.length === COUNT;
        },
        120_000,
      );
    await settled("all observed");

    // The two ways of the page: written anew, or edited by hand.
    const anew = ["--include-managed", "--management-policy", "Full", "--env", env, "--out", out];
    expect((await mooring("import", ...anew)).stderr).toContain("exists: move it away, or overwrite it with --force");
    if (generation === "Current") expect((await mooring("import", ...anew, "--force")).code).toBe(3);
    else await setFull(out);
    expect((await readdir(out)).sort()).toEqual(files);
    expect(await kubectl("apply", "--server-side", "-f", out)).toMatchObject({ code: 0, stderr: "" });
    await settled("all managed");
    const sweeps = async () =>
      (await world.audit(sweep)).filter(({ query }) => !query?.["cursor"] && (query?.["pageNum"] ?? "1") === "1")
        .length;
    const swept = await sweeps();
    await eventually("three sweeps more", async () => (await sweeps()) >= swept + 3);
    expect(await world.audit("updateEndpoint")).toEqual([]);
    expect(await parametersByID(world)).toEqual(before);

    // Nothing is planned, and what would be planned is the whole endpoint: an edit of one field changes that field alone.
    const plain = (await world.list("GpuEndpoint")).filter(({ spec }) => spec["ignoreDrift"] === undefined);
    expect(plain.length).toBeGreaterThan(PLAIN - 10);
    for (const { metadata } of plain) {
      await world.patch("GpuEndpoint", metadata.name, { spec: { workers: { idleTimeoutSeconds: 999 } } });
    }
    await settled("all edited");
    const expected = new Map(before);
    for (const { spec } of plain) {
      const { endpointID } = spec["adoption"] as { endpointID: string };
      const parameters = before.get(endpointID);
      if (parameters === undefined) throw new Error(`no endpoint ${endpointID}`);
      expected.set(endpointID, { ...parameters, workerConfig: { ...parameters.workerConfig, freeTimeout: 999 } });
    }
    expect(await parametersByID(world)).toEqual(expected);
    expect(await world.audit("updateEndpoint")).toHaveLength(plain.length);

    const again = await mooring("import", "--account", "default");
    expect(again.stdout).toBe("");
    expect(again.stderr).toContain(`0 written, 1 not written, ${COUNT} left out`);
  });
});
