import { expect, it } from "vitest";
import { namesakesOf, observeBinding } from "../../../../src/controllers/gpu-endpoint/observe.ts";
import { isOurCreate } from "../../../../src/controllers/gpu-endpoint/plan.ts";
import type { EndpointRecord } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { createOf, desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { START } from "../../../support/fake-clock.ts";
import { accountAt } from "../../../support/service-account.ts";

const signal = new AbortController().signal;
const endpoint = endpointOf({ appName: "mine" });
const desired = desiredOf(endpoint);
const ours = recordOf(desired, { id: "ep-ours", createdAt: START / 1000 });
const theirs: EndpointRecord = { ...ours, id: "ep-theirs", name: "somebody-elses" };

/** An account whose service shows these endpoints, all with one app name. */
function accountWith(shown: EndpointRecord[], missing: string[] = []) {
  const account = accountAt("http://127.0.0.1:1");
  const observed = {
    ...account.endpoints.observed,
    byAppName: () => shown,
    missing: (id: string) => missing.includes(id),
    first: async () => undefined,
    next: async () => undefined,
  };
  return { ...account, endpoints: { ...account.endpoints, observed, find: async () => shown } };
}

const facts = (shown: EndpointRecord[]) => ({
  endpoint,
  account: accountWith(shown),
  unknownForMs: 0,
  appName: "mine",
  isOurs: (record: EndpointRecord, sentAt: number) => isOurCreate({ desired }, record, sentAt),
  now: START,
  signal,
});

it.each([
  ["first", [ours, theirs]],
  ["last", [theirs, ours]],
])("of two endpoints with the app name, a lost create is the one that fits: %s", async (_where, shown) => {
  const binding = await observeBinding({ ...facts(shown), entry: createOf() });
  expect(binding).toMatchObject({ kind: "CreateUnknown", candidate: { id: "ep-ours" } });
});

it("an object without an endpoint sees all endpoints with its app name", async () => {
  const binding = await observeBinding({ ...facts([theirs, ours]), entry: undefined });
  expect(binding).toMatchObject({ kind: "Unbound", candidate: { id: "ep-theirs" }, others: ["ep-ours"] });
});

it("the namesakes of a bound endpoint are all others that the service shows", () => {
  const third = { ...ours, id: "ep-3" };
  const ids = (missing: string[]) =>
    namesakesOf(accountWith([theirs, ours, third], missing), "mine", "ep-ours").map(({ id }) => id);
  expect(ids([])).toEqual(["ep-theirs", "ep-3"]);
  expect(ids(["ep-3"])).toEqual(["ep-theirs"]);
});
