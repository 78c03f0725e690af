import { expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import { createAccountRegistry } from "../../../../src/controllers/account/registry.ts";
import { createLostCreates } from "../../../../src/controllers/gpu-endpoint/creates.ts";
import { endpointOf } from "../../../support/endpoints.ts";

const LOST_AT = Date.parse("2026-03-01T00:00:00Z");
const accounts = createAccountRegistry(
  (key) => key === "Account/team/default",
  () => {},
);

function older(change: Partial<GpuEndpoint> = {}): GpuEndpoint {
  const endpoint = endpointOf();
  const metadata = { ...endpoint.metadata, creationTimestamp: "2026-02-28T23:59:59Z" };
  return { ...endpoint, metadata, ...change };
}

const accepted = { id: "i", specHash: "h", attempt: 1, state: "Accepted", time: "2026-02-01T00:00:00Z" } as const;

const cases: { name: string; endpoint: GpuEndpoint; completeSince?: number; mayHave: boolean }[] = [
  { name: "an object that is older than the journal", endpoint: older(), mayHave: true },
  {
    name: "an object that is younger",
    endpoint: older({ metadata: { ...older().metadata, creationTimestamp: "2026-03-01T00:00:01Z" } }),
    mayHave: false,
  },
  { name: "no journal was lost", endpoint: older(), completeSince: Number.NEGATIVE_INFINITY, mayHave: false },
  {
    name: "the status shows the endpoint",
    endpoint: older({ status: { conditions: [], endpointID: "e" } }),
    mayHave: false,
  },
  {
    name: "the status shows a create: the next one shows its intent first",
    endpoint: older({ status: { conditions: [], submission: accepted } }),
    mayHave: false,
  },
  {
    name: "a chosen app name proves nothing, so the status shows the intent first",
    endpoint: older({ spec: { ...older().spec, appName: "mine" } }),
    mayHave: false,
  },
  {
    name: "an object without an account",
    endpoint: older({ spec: { ...older().spec, accountRef: { kind: "Account", name: "other" } } }),
    mayHave: false,
  },
];

it.each(cases)("a lost journal may have had its create: $name, $mayHave", ({ endpoint, completeSince, mayHave }) => {
  const lostCreates = createLostCreates({ accounts, journalCompleteSince: () => completeSince ?? LOST_AT });
  expect(lostCreates.mayHave(endpoint)).toBe(mayHave);
});

it("an object is looked up once, and again when it is made anew", () => {
  const lostCreates = createLostCreates({ accounts, journalCompleteSince: () => LOST_AT });
  lostCreates.ruleOut(older());
  expect(lostCreates.mayHave(older())).toBe(false);
  expect(lostCreates.mayHave(older({ metadata: { ...older().metadata, uid: "another" } }))).toBe(true);
  lostCreates.forget("team/echo");
  expect(lostCreates.mayHave(older())).toBe(true);
});
