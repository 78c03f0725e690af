import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createByHand, tools } from "../support/command-line.ts";
import { manifest } from "../support/manifests.ts";
import { oddEndpoints } from "../support/odd-endpoints.ts";
import { run } from "../support/run.ts";
import { API_KEY, BUNDLE, createWorld, eventually, waitForCondition } from "../support/world.ts";

it("mooring orphans lists what is left behind and what was made by hand, and touches nothing", async () => {
  const world = await createWorld("orphans", { seed: 21 });
  const { mooring, kubectl } = tools(world);
  await world.startOperator();
  await world.apply(manifest("endpoint", {}, "kept"));
  await world.apply(manifest("endpoint", { deletionPolicy: "Retain" }, "left"));
  await waitForCondition(world, "GpuEndpoint", "kept", "Ready");
  const { status } = await waitForCondition(world, "GpuEndpoint", "left", "Ready");
  const none = await mooring("orphans", "--exit-code");
  expect(none).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("No orphans: 2 endpoints") });

  expect(await kubectl("delete", "gpuendpoint", "left")).toMatchObject({ code: 0 });
  const byHand = await createByHand(world, { ...oddEndpoints(1)[0]?.create, name: "by\nhand" });
  const listed = await mooring("orphans", "-o", "name", "--exit-code");
  expect(listed).toEqual({ code: 3, stdout: `${status?.["endpointID"]}\n${byHand}\n`, stderr: "" });
  const { stdout } = await mooring("orphans");
  const [heading, left, other, ...rest] = stdout.trimEnd().split("\n");
  expect(heading).toMatch(/^ID +NAME +APP-NAME +STATUS +WORKERS +GENERATED +AGE$/);
  expect(left).toMatch(
    new RegExp(`^${status?.["endpointID"]} +\\S+-left +left-[0-9a-f]{10} +running +1 \\(1-2\\) +yes +\\d+s$`),
  );
  expect(other).toMatch(new RegExp(`^${byHand} +by\\\\nhand +app-0 .* no +\\d+s$`));
  expect(rest).toEqual([]);
  const { items } = JSON.parse((await mooring("orphans", "-o", "json", "--generation", "Earlier")).stdout);
  expect(items.map(({ id, generated }: { id: string; generated: boolean }) => [id, generated])).toEqual([
    [status?.["endpointID"], true],
    [byHand, false],
  ]);

  // What is listed can be imported; then it is no orphan any more.
  const imported = await mooring("import", "--endpoint-id", byHand, "--endpoint-id", String(status?.["endpointID"]));
  const file = join(await mkdtemp(join(tmpdir(), "mooring-orphans-")), "all.yaml");
  await writeFile(file, imported.stdout);
  expect(await kubectl("apply", "--server-side", "-f", file)).toMatchObject({ code: 0, stderr: "" });
  await rm(file);
  await eventually("both are taken over", async () =>
    (await world.list("GpuEndpoint")).every((object) => object.status?.["endpointID"] !== undefined),
  );
  expect((await mooring("orphans")).stdout).toBe("");
  expect(await world.audit("updateEndpoint")).toEqual([]);
});

it("without an account in the cluster, the key comes from the environment or a file and is never shown", async () => {
  const world = await createWorld("import-direct", { seed: 22, account: null });
  const id = await createByHand(world, oddEndpoints(2)[1]?.create);
  const direct = (args: string[], env: Record<string, string>) =>
    run(process.execPath, [BUNDLE, "import", "--base-url", world.simulator.url, ...args], {
      env: { KUBECONFIG: "/nonexistent", ...env },
    });
  const good = await direct([], { MOORING_API_KEY: API_KEY });
  expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining(`endpointID: ${id}`) });
  expect(good.stdout).not.toContain("namespace:");
  expect(good.stdout).not.toContain("accountRef");
  const refused = await direct([], { MOORING_API_KEY: "wrong-key-0123456789" });
  expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("401") });
  expect(refused.stderr).not.toContain("wrong-key");
  expect((await direct([], { MOORING_API_KEY: "" })).stderr).toContain("--api-key-file");
  expect((await direct(["--endpoint-id", "nope"], { MOORING_API_KEY: API_KEY })).stderr).toContain(
    "nope does not exist",
  );
  expect((await tools(world).mooring("import", "--account", "absent")).stderr).toContain("Account");
});
