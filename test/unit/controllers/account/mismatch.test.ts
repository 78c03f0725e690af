import { expect, it } from "vitest";
import { accountMismatch } from "../../../../src/controllers/account/mismatch.ts";

const baseURL = "https://new.example.com";

it.each([undefined, baseURL])("an object that is bound to %s can use the account", (bound) => {
  expect(accountMismatch(bound, { key: "Account/team/default", baseURL })).toBeUndefined();
});

it.each([
  ["Account/team/default", "Account default", "kubectl patch account default -n team"],
  ["ClusterAccount/shared", "ClusterAccount shared", "kubectl patch clusteraccount shared"],
])("for %s, the message names the account and the field, and ends with a command", (key, name, command) => {
  expect(accountMismatch("https://old.example.com/it's", { key, baseURL })).toEqual({
    reason: "AccountMismatch",
    message: `${name} has spec.baseURL https://new.example.com, but this object is bound to https://old.example.com/it's: nothing is sent. Either create this object again at the new base URL, or restore the base URL: ${command} --type=merge -p '{"spec":{"baseURL":"https://old.example.com/it'\\''s"}}'`,
  });
});
