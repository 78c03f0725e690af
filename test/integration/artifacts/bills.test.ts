import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import type { BillReport } from "../../../src/api/v1alpha1/bill-report.ts";
import { exportToStore } from "../../../src/controllers/billing/report/export.ts";
import { volumeStore } from "../../../tools/artifacts/stores.ts";
import { storedMeta } from "../../support/stored-meta.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "mooring-bills-"));
  return () => rm(root, { recursive: true, force: true });
});

const signal = new AbortController().signal;
const report: BillReport = {
  metadata: storedMeta({ name: "year", namespace: "finance", uid: "8d1f" }),
  spec: { lastDays: 30, cycle: "Day", refreshInterval: "1h" },
};
const output = { storeRef: { name: "archive" }, prefix: "bills", format: "CSV" as const };
const file = async function* (...parts: string[]) {
  yield* parts;
};
const folder = () => join(root, "results", "bills", "finance", "BillReport", "year", "8d1f");

it("a report's file replaces the one before, and one that breaks off leaves it standing", async () => {
  const store = await volumeStore(root);
  await exportToStore(store, { report, content: file("first"), signal }, output);
  const written = await exportToStore(store, { report, content: file("a,b\r\n", "1,2\r\n"), signal }, output);
  const text = "a,b\r\n1,2\r\n";
  expect(written).toEqual({
    kind: "Written",
    export: {
      uri: `file://${join(folder(), "0.csv")}`,
      bytes: text.length,
      sha256: createHash("sha256").update(text).digest("hex"),
      format: "CSV",
    },
  });
  const broken = async function* () {
    yield "a,b\r\n";
    throw new Error("the service went away");
  };
  await expect(exportToStore(store, { report, content: broken(), signal }, output)).rejects.toThrow(
    "the service went away",
  );
  expect(await readFile(join(folder(), "0.csv"), "utf8")).toBe(text);
  expect(await readdir(folder())).toEqual(["0.csv"]);
});
