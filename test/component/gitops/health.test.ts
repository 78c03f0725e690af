import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { PENDING_STATUS } from "../../../src/api/v1alpha1/meta.ts";
import type { Condition } from "../../../src/kube/types.ts";
import { ACCOUNT_STATES, accountAfter } from "../../support/golden/accounts.ts";
import { BATCH_STATES, batchAfter } from "../../support/golden/batches.ts";
import { BILL_STATES, billReportAfter } from "../../support/golden/bills.ts";
import { ENDPOINT_STATES, endpointAfter } from "../../support/golden/endpoints.ts";
import { JOB_STATES, jobAfter } from "../../support/golden/jobs.ts";
import { STORE_STATES, storeAfter } from "../../support/golden/stores.ts";
import { kstatusOf, type Verdict } from "../../support/kstatus.ts";
import { kstatusVerdicts } from "../../support/kstatus-library.ts";
import { ARGO_CD, type HealthCase, testHealth } from "../../support/lua.ts";

type Golden = { kind: string; metadata: { name: string }; status: typeof PENDING_STATUS };
/** Every state of every kind as the object that people and their tools see. The tests of each status check the verdicts. */
const golden = [
  ...ACCOUNT_STATES.flatMap(([name, before, facts]) => {
    const object = accountAfter(before, facts);
    return [object, { ...object, kind: "ClusterAccount" }].map((one) => ({ name, object: one }));
  }),
  ...JOB_STATES.flatMap(([name, before, outcome, , spec]) => {
    const object = jobAfter(before, outcome, spec);
    return [object, { ...object, kind: "SpeechJob" }].map((one) => ({ name, object: one }));
  }),
  ...BILL_STATES.map(([name, before, outcome]) => ({ name, object: billReportAfter(before, outcome) })),
  ...BATCH_STATES.map(([name, before, outcome, written]) => ({ name, object: batchAfter(before, outcome, written) })),
  ...ENDPOINT_STATES.map(([name, before, part]) => ({ name, object: endpointAfter(before, part) })),
  ...STORE_STATES.map(([name, before, outcome]) => ({ name, object: storeAfter(before, outcome) })),
].map(({ name, object }) => ({ name: `${object.kind} ${name}`, object: object as Golden, verdict: kstatusOf(object) }));
const kinds = KINDS.map(({ resource }) => resource.kind);
const pending = kinds.map((kind) => ({
  name: `${kind} that was just created`,
  object: {
    apiVersion: "mooring.dev/v1alpha1",
    kind,
    metadata: { name: "new", generation: 1 },
    spec: {},
    status: PENDING_STATUS,
  },
  verdict: "InProgress" as const,
}));
/** As the API server would hand it out: nothing that JSON does not have. */
const plain = (object: unknown) => JSON.parse(JSON.stringify(object));

describe("kstatus itself", () => {
  const changed = golden.map(({ name, object }) => ({
    name: `${name}, before the operator has seen a change`,
    object: { ...object, metadata: { ...object.metadata, generation: 7 } },
    verdict: "InProgress" as const,
  }));
  const deleted = golden.map(({ name, object }) => ({
    name: `${name}, and is to go`,
    object: { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-03-01T00:00:00Z" } },
    verdict: "Terminating" as const,
  }));
  const rows = [...golden, ...pending, ...changed, ...deleted];

  it("has golden states of every kind", () => {
    expect([...new Set(golden.map(({ object }) => object.kind))].sort()).toEqual([...kinds].sort());
  });

  it("reads every state of every kind as the golden tables say", async () => {
    const verdicts = await kstatusVerdicts(rows.map(({ object }) => plain(object)));
    expect(rows.map(({ name }, index) => `${name}: ${verdicts[index]}`)).toEqual(
      rows.map(({ name, verdict }) => `${name}: ${verdict}`),
    );
  });

  it("has rules that are those of kstatusOf", async () => {
    const conditions = ["Reconciling", "Stalled", "Ready"].map((type) =>
      [undefined, "True", "False", "Unknown"].map((status) =>
        status === undefined
          ? []
          : [{ type, status, reason: "Any", message: "", lastTransitionTime: "2026-03-01T00:00:00Z" } as Condition],
      ),
    );
    const [first = [], second = [], third = []] = conditions;
    const all = first.flatMap((a) => second.flatMap((b) => third.map((c) => [...a, ...b, ...c])));
    const objects = all.map((list) => ({
      ...pending[0]?.object,
      metadata: { name: "any", generation: 1 },
      status: { conditions: list },
    }));
    const ours = objects.map(kstatusOf);
    expect(await kstatusVerdicts(objects)).toEqual(ours);
  });
});

describe("Argo CD", () => {
  const expected = ({ object, verdict }: { object: Golden; verdict: Verdict }): HealthCase["status"] => {
    const { conditions } = object.status;
    if (conditions.some(({ type, status }) => type === "Suspended" && status === "True")) return "Suspended";
    return verdict === "Current" ? "Healthy" : verdict === "Failed" ? "Degraded" : "Progressing";
  };

  it("sees every state of every kind as kstatus does, and a suspended job as suspended", async () => {
    const cases = [...golden, ...pending].map((row) => ({
      name: row.name,
      obj: plain(row.object),
      status: expected(row),
    }));
    const lines = await testHealth(cases);
    for (const { name, status } of cases) expect(lines).toContain(`ok - ${name}: ${status}`);
    expect(new Set(cases.map(({ status }) => status)).size).toBe(4);
    expect(lines.at(-1)).toMatch(/^\d+ passed, 0 failed$/);
  });

  it("reports a wrong health", async () => {
    const obj = plain(pending[0]?.object);
    await expect(testHealth([{ name: "wrong", obj, status: "Healthy" }])).rejects.toThrow(
      "not ok - wrong: Progressing, ",
    );
  });

  it("has a check for every kind in the ConfigMap", async () => {
    const { data } = parse(await readFile(join(ARGO_CD, "argocd-cm.yaml"), "utf8"));
    const crds = await readdir(new URL("../../../crds", import.meta.url));
    const lua = await readFile(join(ARGO_CD, "health.lua"), "utf8");
    expect(Object.keys(data)).toHaveLength(crds.filter((file) => file.endsWith(".yaml")).length);
    for (const kind of kinds) expect(data[`resource.customizations.health.mooring.dev_${kind}`]).toBe(lua);
  });
});
