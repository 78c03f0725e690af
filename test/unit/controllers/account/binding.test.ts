import { describe, expect, it } from "vitest";
import type { AccountRef, BoundAccount } from "../../../../src/api/v1alpha1/meta.ts";
import {
  type AccountUser,
  accountOfResources,
  accountsOf,
  accountToUse,
  boundBaseURL,
} from "../../../../src/controllers/account/binding.ts";

const baseURL = "https://api.example.com";
const shared: BoundAccount = { kind: "ClusterAccount", name: "default", baseURL };
const named: AccountRef = { kind: "Account", name: "named" };
const sent: BoundAccount = { kind: "Account", name: "sent", baseURL };

function userOf(accountRef: AccountRef | undefined, account: BoundAccount | undefined): AccountUser {
  return { metadata: { name: "one", namespace: "team" }, spec: { accountRef }, status: { account } } as AccountUser;
}

describe("an object uses", () => {
  it.each<[string, AccountRef | undefined, BoundAccount | undefined, object | undefined, string[]]>([
    [
      "the default account, before it is bound",
      undefined,
      undefined,
      undefined,
      ["Account/team/default", "ClusterAccount/default"],
    ],
    ["the account that it is bound to", undefined, shared, shared, ["ClusterAccount/default"]],
    ["the account that its spec names", named, undefined, named, ["Account/team/named"]],
    ["the account that a user names later", named, shared, named, ["ClusterAccount/default", "Account/team/named"]],
  ])("%s", (_name, ref, bound, expected, keys) => {
    expect(accountToUse(userOf(ref, bound))).toEqual(expected);
    expect(accountsOf(userOf(ref, bound))).toEqual(keys);
  });
});

describe("what was made for an object is known to", () => {
  it.each<[string, AccountRef | undefined, BoundAccount | undefined, BoundAccount | undefined, object | undefined]>([
    ["the account that the request was sent to", named, shared, sent, sent],
    ["the account that it is bound to, whatever its spec names now", named, shared, undefined, shared],
    ["the account of its spec, before it is bound", named, undefined, undefined, named],
  ])("%s", (_name, ref, bound, sentTo, expected) => {
    expect(accountOfResources(userOf(ref, bound), sentTo)).toEqual(expected);
  });
});

it("a base URL binds only at the account that the object is bound to", () => {
  expect(boundBaseURL(userOf(named, shared), "ClusterAccount/default")).toBe(baseURL);
  expect(boundBaseURL(userOf(named, shared), "Account/team/named")).toBeUndefined();
});
