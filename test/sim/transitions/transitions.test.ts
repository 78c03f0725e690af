import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { createStage, type Stage, waitForCondition } from "../stage/stage.ts";
import { type Base, basesOf, baseWith } from "./bases.ts";
import { driveField, type FieldReport } from "./drive.ts";
import { type Field, fieldsOf, specSchemaOf } from "./schema.ts";

/** `npm run test:sim -- transitions --select NAMES`: kinds, or fields by `KIND PATH`, separated by commas. */
const ONLY = process.env["MOORING_TRANSITIONS_ONLY"]?.split(",");
const GENERATIONS = ["Current", "Earlier"] as const;
type Generation = (typeof GENERATIONS)[number];

async function onStage<T>(generation: Generation, work: (stage: Stage) => Promise<T>): Promise<T> {
  const root = await mkdtemp(join(tmpdir(), "mooring-transitions-"));
  const stage = await createStage({
    simulator: { timeScale: 0, limits: { maxWorkerNum: 100 } },
    account: { endpoints: { syncInterval: "1s", generation } },
    artifactRoot: root,
  });
  try {
    for (const name of ["values", "other"]) {
      const data = { value: "one", other: "two" };
      const secret = { value: btoa(data.value), other: btoa(data.other) };
      await stage.apply({ apiVersion: "v1", kind: "Secret", metadata: { name }, data: secret });
      await stage.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
    }
    await stage.apply({ kind: "ArtifactStore", metadata: { name: "volume" }, spec: { volume: { path: "volume" } } });
    stage.start();
    await waitForCondition(stage, "Account", "default", "Ready");
    await waitForCondition(stage, "ArtifactStore", "volume", "Ready");
    const result = await work(stage);
    expect(stage.exits()).toEqual([]);
    return result;
  } finally {
    await stage.end();
    await rm(root, { recursive: true, force: true });
  }
}

it.each(KINDS.map(({ resource }) => resource.kind))(
  "%s: each field goes through valid, boundary and invalid values",
  async (kind) => {
    const inScope = ({ path }: Field): boolean =>
      ONLY?.some((one) => one === kind || one === `${kind} ${path}`) ?? true;
    const fields = fieldsOf(specSchemaOf(kind)).filter(inScope);
    const drive = (field: Field, generation: Generation): Promise<FieldReport> =>
      onStage(generation, (stage) => {
        const url = stage.service.config().publicURL ?? "";
        const bases = basesOf({ namespace: stage.namespace, simulator: { url } }).filter((base) => base.kind === kind);
        const base: Base | undefined = baseWith(bases, field.path);
        if (base === undefined) throw new Error(`no base has the parent of ${field.path}`);
        return driveField(stage, base, field);
      }).catch((error: unknown) => {
        const nothing = { kind, path: field.path, changes: 0, rejections: 0, immutable: 0 };
        return { ...nothing, wrong: [String(error)] };
      });
    const reports: FieldReport[] = [];
    for (const [index, field] of fields.entries()) {
      const generations = kind === "GpuEndpoint" ? GENERATIONS : GENERATIONS.slice(index % 2).slice(0, 1);
      for (const generation of generations) reports.push(await drive(field, generation));
    }
    const count = (of: (report: FieldReport) => number) => reports.reduce((sum, report) => sum + of(report), 0);
    const rows = reports.map(
      ({ path, changes, rejections, immutable }) =>
        `  ${path}: ${changes} changes, ${rejections} rejections${immutable > 0 ? `, ${immutable} times immutable` : ""}`,
    );
    console.log(
      [
        `${kind}: ${reports.length} fields, ${count(({ changes }) => changes)} changes, ${count(({ rejections }) => rejections)} invalid values rejected, ` +
          `${count(({ immutable }) => immutable)} changes of immutable fields rejected`,
        ...(ONLY === undefined ? [] : rows),
      ].join("\n"),
    );
    const without = reports.filter(({ changes, immutable }) => changes + immutable === 0);
    expect(without.map(({ path }) => `${kind} ${path} has no transition`)).toEqual([]);
    const wrong = reports.flatMap(({ path, wrong: found }) => found.map((line) => `${kind} ${path}: ${line}`));
    expect(wrong.join("\n")).toBe("");
  },
);
