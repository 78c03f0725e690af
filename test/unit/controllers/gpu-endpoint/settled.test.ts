import { expect, it } from "vitest";
import { isSettled } from "../../../../src/controllers/gpu-endpoint/observe.ts";
import type { EndpointRecord } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";

const worker = (status: string): EndpointRecord["workers"][number] => ({
  id: status,
  status: { status, error: "", message: "" },
  log: "",
  healthy: true,
  draining: false,
});

it.each([
  ["still boots", "initializing", 0, 1, [], false],
  ["serves without its worker", "running", 1, 2, [], false],
  ["serves while its worker boots", "running", 1, 2, ["initializing"], false],
  ["serves with its worker", "running", 1, 2, ["ready"], true],
  ["serves in the earlier generation", "serving", 1, 2, ["running"], true],
  ["needs no worker", "running", 0, 2, [], true],
  ["is suspended and still boots", "initializing", 0, 0, [], false],
  ["is suspended and still has a worker", "running", 0, 0, ["ready"], false],
  ["is suspended and has stopped", "running", 0, 0, [], true],
] as const)("an endpoint that %s (%s, %i to %i workers)", (_what, status, min, max, workers, settled) => {
  const base = recordOf(desiredOf(endpointOf()));
  const record: EndpointRecord = {
    ...base,
    status: { status, error: "", message: "" },
    scaling: { ...base.scaling, min, max },
    workers: workers.map(worker),
  };
  expect(isSettled(record)).toBe(settled);
});
