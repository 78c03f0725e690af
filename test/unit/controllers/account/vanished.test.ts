import { expect, it } from "vitest";
import { countVanished } from "../../../../src/controllers/account/vanished.ts";

const record = (id: string, memberID = "") => ({ id, memberID });

it.each([
  { name: "nothing is shown, one endpoint", bound: ["a"], shown: [], missing: "a", member: "", expected: 1 },
  { name: "nothing is shown, three", bound: ["a", "b", "c"], shown: [], missing: "a", member: "m-1", expected: 3 },
  { name: "another bound endpoint is shown", bound: ["a", "b"], shown: [record("b")], missing: "a", expected: 0 },
  { name: "only endpoints of others are shown", bound: ["a", "b"], shown: [record("x")], missing: "a", expected: 2 },
  {
    name: "an endpoint without an object, of the same member",
    bound: ["a"],
    shown: [record("x", "m-1")],
    missing: "a",
    member: "m-1",
    expected: 0,
  },
  {
    name: "an endpoint without an object, of another member",
    bound: ["a"],
    shown: [record("x", "m-2")],
    missing: "a",
    member: "m-1",
    expected: 1,
  },
  {
    name: "an endpoint that was created with the key of another member",
    bound: ["a", "b"],
    shown: [record("b", "m-2")],
    missing: "a",
    member: "m-1",
    expected: 2,
  },
  { name: "the status does not show the missing one yet", bound: [], shown: [], missing: "a", expected: 1 },
  { name: "no endpoint is known at all", bound: [], shown: [], missing: undefined, expected: 0 },
])("vanished endpoints: $name", ({ bound, shown, missing, member, expected }) => {
  expect(countVanished(bound, shown, { endpointID: missing, memberID: member })).toBe(expected);
});
