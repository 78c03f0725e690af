import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { clusterAccountResource, KINDS } from "../../src/api/v1alpha1/kinds.ts";
import { createSemaphore } from "../../src/base/semaphore.ts";
import { createWorld, type World, waitForCondition } from "../support/world.ts";
import { waitForEveryKind } from "./api-server-ready.ts";
import { basesOf, baseWith } from "./bases.ts";
import { driveField, type FieldReport } from "./drive.ts";
import { createObserver, type Observer } from "./observer.ts";
import { type Field, fieldsOf, specSchemaOf } from "./schema.ts";

/**
 * `npm run test:full` drives some fields of GpuEndpoint, with `--only transitions --long` every field. `--select` names kinds, or fields
 * by `KIND PATH`, separated by commas.
 */
const FULL = process.env["MOORING_TRANSITIONS"] === "1";
const ONLY = process.env["MOORING_TRANSITIONS_ONLY"]?.split(",");
const SAMPLED = /^(image|workers\.max|suspend|env\[\]\.value|policy\.type|port)$/;
/** Objects that change at once. */
const pool = createSemaphore({ capacity: 24 });

let world: World;
let observer: Observer;
let root: string;
beforeAll(async () => {
  await waitForEveryKind();
  root = await mkdtemp(join(tmpdir(), "mooring-transitions-"));
  world = await createWorld("transitions", {
    simulator: { timeScale: 0, limits: { maxWorkerNum: 100 } },
    account: { endpoints: { syncInterval: "1s" } },
  });
  for (const name of ["values", "other"]) {
    await world.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name },
      stringData: { value: "one", other: "two" },
    });
    await world.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name },
      data: { value: "one", other: "two" },
    });
  }
  await world.apply({ kind: "ArtifactStore", metadata: { name: "volume" }, spec: { volume: { path: "volume" } } });
  await world.startOperator({ args: [`--artifact-root=${root}`, "--log-level=warn"] });
  await waitForCondition(world, "Account", "default", "Ready");
  await waitForCondition(world, "ArtifactStore", "volume", "Ready");
  observer = createObserver(world);
});
afterAll(async () => {
  await observer?.stop();
  const { items } = await world.kube.list(clusterAccountResource, {});
  for (const { metadata } of items) {
    if (metadata.name.includes(world.namespace))
      await world.kube.delete(clusterAccountResource, { name: metadata.name });
  }
  await rm(root, { recursive: true, force: true });
});

const inScope = (kind: string, { path }: Field): boolean => {
  if (ONLY !== undefined) return ONLY.some((one) => one === kind || one === `${kind} ${path}`);
  return FULL || (kind === "GpuEndpoint" && SAMPLED.test(path));
};

it.concurrent.each(KINDS.map(({ resource }) => resource.kind))(
  "%s: each field goes through valid, boundary and invalid values",
  { timeout: 3_600_000 },
  async (kind) => {
    const fields = fieldsOf(specSchemaOf(kind)).filter((field) => inScope(kind, field));
    const bases = basesOf(world).filter((base) => base.kind === kind);
    const drive = async (field: Field): Promise<FieldReport> => {
      const base = baseWith(bases, field.path);
      const nothing = { kind, path: field.path, changes: 0, rejections: 0, immutable: 0 };
      if (base === undefined) return { ...nothing, wrong: ["no base has the parent of this field"] };
      const release = await pool.take(kind, 1, new AbortController().signal);
      const report = await driveField(world, observer, base, field)
        .catch((error: unknown) => ({ ...nothing, wrong: [String(error)] }))
        .finally(release);
      for (const line of report.wrong) process.stderr.write(`${kind} ${field.path}: ${line}\n`);
      return report;
    };
    const reports = await Promise.all(fields.map(drive));
    const count = (of: (report: FieldReport) => number) => reports.reduce((sum, report) => sum + of(report), 0);
    const rows = reports.map(
      ({ path, changes, rejections, immutable }) =>
        `  ${path}: ${changes} changes, ${rejections} rejections${immutable > 0 ? `, ${immutable} times immutable` : ""}`,
    );
    console.log(
      [
        `${kind}: ${reports.length} fields, ${count(({ changes }) => changes)} changes, ${count(({ rejections }) => rejections)} invalid values rejected, ` +
          `${count(({ immutable }) => immutable)} changes of immutable fields rejected`,
        ...(FULL ? rows : []),
      ].join("\n"),
    );
    const without = reports.filter(({ changes, immutable }) => changes + immutable === 0);
    expect(without.map(({ path }) => `${kind} ${path} has no transition`)).toEqual([]);
    const wrong = reports.flatMap(({ path, wrong: found }) => found.map((line) => `${kind} ${path}: ${line}`));
    expect(wrong.join("\n")).toBe("");
  },
);
