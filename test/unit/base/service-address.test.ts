import { expect, it } from "vitest";
import { isSameService, serviceAddress } from "../../../src/base/service-address.ts";
import { accountMismatch } from "../../../src/controllers/account/mismatch.ts";

it.each([
  ["https://api.example.com", "https://api.example.com/"],
  ["https://api.example.com/prefix", "https://api.example.com/prefix//"],
  ["https://api.example.com", "https://API.Example.com:443"],
  ["http://api.example.com/a", "http://api.example.com:80/a/"],
  ["https://api.example.com/b", "https://api.example.com/a/../b/./"],
])("%s and %s are one service: an object that is bound to one may use the other", (one, other) => {
  expect(isSameService(one, other)).toBe(true);
  expect(serviceAddress(other)).toBe(one);
  expect(accountMismatch(one, { key: "Account/team/default", baseURL: other })).toBeUndefined();
});

it.each([
  ["https://api.example.com", "http://api.example.com"],
  ["https://api.example.com", "https://api.example.com:8443"],
  ["https://api.example.com", "https://api.example.com/prefix"],
  ["https://api.example.com/a", "https://api.example.com/A"],
  ["https://api.example.com", "no address"],
])("%s and %s are two services", (one, other) => {
  expect(isSameService(one, other)).toBe(false);
  expect(accountMismatch(one, { key: "Account/team/default", baseURL: other })?.reason).toBe("AccountMismatch");
});
