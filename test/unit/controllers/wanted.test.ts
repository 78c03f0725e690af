import { expect, it } from "vitest";
import { assertWanted } from "../../../src/controllers/wanted.ts";

const object = { metadata: { namespace: "team", name: "a", uid: "1", generation: 1 } };

it.each([
  { change: "nothing", isOutdated: false, replaced: false, unwanted: undefined },
  {
    change: "the account's spec",
    isOutdated: true,
    replaced: false,
    unwanted: "lost its account Account/team/default",
  },
  { change: "the account's connection", isOutdated: false, replaced: true, unwanted: "lost its account" },
])("of a request that waited, $change changed: sent unless that decides", ({ isOutdated, replaced, unwanted }) => {
  const account = { key: "Account/team/default", isOutdated: () => isOutdated };
  const accounts = { get: () => ({ handle: replaced ? { ...account } : account }) };
  const kind = { resource: { kind: "GpuEndpoint" }, store: { get: () => object } };
  const check = () => assertWanted({ accounts } as never, { kind, object, account } as never);
  if (unwanted === undefined) check();
  else expect(check).toThrow(unwanted);
});
