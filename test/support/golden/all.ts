import type { KubeObject } from "../../../src/kube/types.ts";
import type { Verdict } from "../kstatus.ts";
import { ACCOUNT_STATES, accountAfter } from "./accounts.ts";
import { BILL_STATES, billReportAfter } from "./bills.ts";
import { ENDPOINT_STATES, endpointAfter } from "./endpoints.ts";
import { JOB_STATES, jobAfter } from "./jobs.ts";
import { STORE_STATES, storeAfter } from "./stores.ts";

export type GoldenObject = { name: string; object: KubeObject<unknown, unknown>; verdict: Verdict };

/** Every state of every kind as the object that people and their tools see, with the verdict of kstatus. */
export function goldenObjects(): GoldenObject[] {
  const accounts = ACCOUNT_STATES.flatMap(([name, before, facts, , verdict]) => {
    const object = accountAfter(before, facts);
    return [
      { name: `Account ${name}`, object, verdict },
      { name: `ClusterAccount ${name}`, object: { ...object, kind: "ClusterAccount" }, verdict },
    ];
  });
  const jobs = JOB_STATES.flatMap(([name, before, outcome, spec, , , verdict]) => {
    const object = jobAfter(before, outcome, spec);
    return [
      { name: `VideoJob ${name}`, object, verdict },
      { name: `SpeechJob ${name}`, object: { ...object, kind: "SpeechJob" }, verdict },
    ];
  });
  return [
    ...accounts,
    ...jobs,
    ...BILL_STATES.map(([name, before, outcome, , verdict]) => {
      return { name: `BillReport ${name}`, object: billReportAfter(before, outcome), verdict };
    }),
    ...ENDPOINT_STATES.map(([name, before, part, , verdict]) => {
      return { name: `GpuEndpoint: ${name}`, object: endpointAfter(before, part), verdict };
    }),
    ...STORE_STATES.map(([name, before, outcome, , verdict]) => {
      return { name: `ArtifactStore ${name}`, object: storeAfter(before, outcome), verdict };
    }),
  ];
}
