import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { journalNameOf, leaseNameOf, MAX_SHARDS, SHARD_INDEXES } from "../../src/operator/shard.ts";
import { journalNames } from "../../src/submission/journal-shards.ts";
import { tool } from "../../tools/programs/tool.ts";
import { CHART, helm, type Rendered, render } from "../support/chart.ts";

type Deployment = {
  spec: {
    selector: { matchLabels: Record<string, string> };
    template: { metadata: { labels: Record<string, string> }; spec: { containers: { args: string[] }[] } };
  };
};

const ofKind = (objects: readonly Rendered[], kind: string) => objects.filter((object) => object.kind === kind);
const shardArguments = ({ spec }: Deployment) =>
  (spec.template.spec.containers[0]?.args ?? []).filter((argument) => argument.startsWith("--shard"));

/** The Deployments of the operator, by name. */
async function deployments(...settings: string[]): Promise<Map<string, Deployment>> {
  const objects = await render("mooring-system", ...settings);
  return new Map(
    ofKind(objects, "Deployment").map((object) => [object.metadata.name, object as unknown as Deployment]),
  );
}

describe("the value shards", () => {
  test("1 is the Deployment without shards", async () => {
    const [[name, deployment] = [], ...others] = [...(await deployments())];
    expect([name, others]).toEqual(["mooring", []]);
    expect(deployment && shardArguments(deployment)).toEqual([]);
    expect(deployment?.spec.selector.matchLabels).not.toHaveProperty(["mooring.dev/shard"]);
  });

  test("3 is one Deployment for each shard, and each selects its own pods", async () => {
    const found = await deployments("--set=shards=3");
    expect([...found.keys()]).toEqual(["mooring-shard-0", "mooring-shard-1", "mooring-shard-2"]);
    for (const [index, deployment] of [...found.values()].entries()) {
      expect(shardArguments(deployment)).toEqual([`--shard=${index}/3`]);
      const { matchLabels } = deployment.spec.selector;
      expect(matchLabels["mooring.dev/shard"]).toBe(String(index));
      expect(deployment.spec.template.metadata.labels).toMatchObject(matchLabels);
    }
  });

  test("3 with one replica each has a disruption budget over all of them", async () => {
    const budgets = async (...settings: string[]) =>
      ofKind(await render("mooring-system", ...settings), "PodDisruptionBudget").length;
    expect(await budgets("--set=shards=3")).toBe(1);
    expect(await budgets()).toBe(0);
  });

  test("3 has an uninstall that stops each Deployment", async () => {
    const job = ofKind(await render("mooring-system", "--set=shards=3"), "Job").find(
      ({ metadata }) => metadata.name === "mooring-cleanup",
    );
    expect(JSON.stringify(job)).toContain("--stop-deployment=mooring-shard-0,mooring-shard-1,mooring-shard-2");
  });

  test("above 1 needs a volume that several nodes can mount", async () => {
    const settings = ["--set=shards=2", "--set=artifacts.persistence.enabled=true"];
    const { code, stderr } = await helm("template", "mooring", CHART, ...settings);
    expect(code).not.toBe(0);
    expect(stderr).toContain("shards above 1 need artifacts.persistence.accessModes with ReadWriteMany");
    expect((await deployments(...settings, "--set=artifacts.persistence.accessModes={ReadWriteMany}")).size).toBe(2);
  });

  test.each([0, MAX_SHARDS + 1])("%i is refused", async (shards) => {
    expect((await helm("template", "mooring", CHART, `--set=shards=${shards}`)).code).not.toBe(0);
  });
});

test("the Role names the lease and the journal of every shard, also with one: a change of the number needs those of before", async () => {
  const objects = await render("mooring-system");
  const role = ofKind(objects, "Role").find(({ metadata }) => metadata.name === "mooring-leader");
  const named = (resource: string) =>
    (role?.rules ?? [])
      .filter(({ resources, resourceNames }) => resources?.includes(resource) === true && resourceNames !== undefined)
      .flatMap(({ resourceNames = [] }) => resourceNames);
  expect(named("leases")).toEqual(SHARD_INDEXES.map(leaseNameOf));
  expect(named("configmaps")).toEqual(
    expect.arrayContaining(SHARD_INDEXES.flatMap((index) => journalNames(journalNameOf(index)))),
  );
  const schema = JSON.parse(await readFile(join(CHART, "values.schema.json"), "utf8"));
  expect(schema.properties.shards).toEqual({ type: "integer", minimum: 1, maximum: MAX_SHARDS });
});

test("with three shards, MooringNoLeader fires for each shard without a leader, also for one without any pod", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-alerts-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const objects = await render("mooring-system", "--set=metrics.prometheusRule.enabled=true", "--set=shards=3");
  await writeFile(join(folder, "rules.yaml"), JSON.stringify(ofKind(objects, "PrometheusRule")[0]?.["spec"]));
  const cases = join(folder, "cases.yaml");
  await copyFile(fileURLToPath(new URL("alerts-shards.test.yaml", import.meta.url)), cases);
  const { stdout } = await promisify(execFile)(await tool("promtool"), ["test", "rules", cases]);
  expect(stdout).toContain("SUCCESS");
});
