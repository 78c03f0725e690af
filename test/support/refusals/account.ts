import type { Change } from "../manifests.ts";
import { type Refusal, refusalsOf } from "./refusal.ts";

const clusterAccount = refusalsOf("clusterAccount");
const account = refusalsOf("account");
const badBaseURL =
  "baseURL must be http(s)://host[:port][/path] without user, query or fragment: the key goes into apiKeySecretRef";
const badDuration = "must be a Go duration above 0, such as 500ms, 30s, 5m or 24h";
const badMoney = "must be an amount in yuan as a decimal string with at most four decimals";
const deleteWith = (operation: Change) => ({ endpoints: { deleteOperation: { method: "DELETE", ...operation } } });
const namedOnce = "deleteOperation needs exactly one of {id} in path and idField: the endpoint must be named once";

export const accountRefusals: readonly Refusal[] = [
  ...[
    "ftp://api.example.com",
    "api.example.com",
    "https://user:key@api.example.com",
    "https://a.example.com/?k=v",
    "https://",
  ].map((baseURL) => account({ baseURL }, { baseURL: "http://127.0.0.1:8080/v1" }, badBaseURL)),
  ...["60", "1 minute", "5d", "-5s", "0s", ""].map((requestTimeout) =>
    account({ requestTimeout }, { requestTimeout: "1m30s" }, badDuration),
  ),
  ...["30m1s", "1h"].map((requestTimeout) =>
    account({ requestTimeout }, { requestTimeout: "30m" }, "must be 30m or shorter"),
  ),
  account({ endpoints: { syncInterval: "60" } }, { endpoints: { syncInterval: "1.5h" } }, badDuration),
  account({ rateLimit: { requestsPerSecond: 0.01 } }, { rateLimit: { requestsPerSecond: 0.1 } }, "must be 0.1 or more"),
  account(
    { rateLimit: { burst: 0 } },
    { rateLimit: { burst: 1 } },
    "spec.rateLimit.burst in body should be greater than or equal to 1",
  ),
  account(
    { paths: { deleteEndpoint: "/v1/x" } },
    { paths: { submitSpeech: "/v3/async/vendor-speech-3" } },
    "paths is keyed by operation: use listEndpoints, getEndpoint",
  ),
  account(
    { paths: { submitSpeech: "v3/x" } },
    { paths: { submitSpeech: "/v3/x" } },
    "a path must start with '/' and hold no white space, '?' or '#'",
  ),
  account(
    { operations: [{ operation: "deleteEndpoint", requestsPerMinute: 5 }] },
    { operations: [{ operation: "createEndpoint", requestsPerMinute: 5 }] },
    'spec.operations[0].operation: Unsupported value: "deleteEndpoint": supported values: "listEndpoints"',
  ),
  account(
    { operations: [{ operation: "createEndpoint", requestsPerMinute: 0 }] },
    { operations: [{ operation: "createEndpoint", requestsPerMinute: 1 }] },
    "requestsPerMinute in body should be greater than or equal to 1",
  ),
  account(
    {
      operations: [
        { operation: "createEndpoint", requestsPerMinute: 1 },
        { operation: "createEndpoint", requestsPerMinute: 2 },
      ],
    },
    { operations: [{ operation: "createEndpoint", requestsPerMinute: 1 }] },
    "spec.operations[1]: Duplicate value",
  ),
  account(deleteWith({ path: "/v1/endpoint" }), deleteWith({ path: "/v1/endpoint/{id}" }), namedOnce),
  account(
    deleteWith({ path: "/v1/endpoint/{id}", idField: "id" }),
    deleteWith({ method: "POST", path: "/v1/endpoint/delete", idField: "id" }),
    namedOnce,
  ),
  account(
    deleteWith({ method: "GET", path: "/v1/{id}" }),
    deleteWith({ path: "/v1/{id}" }),
    'method: Unsupported value: "GET": supported values: "DELETE", "POST", "PUT", "PATCH"',
  ),
  ...["1.23456", "-1", "1e3", "¥5", "1,000"].map((monthlyLimit) =>
    account({ budget: { monthlyLimit } }, { budget: { monthlyLimit: "1000.5" } }, badMoney),
  ),
  account(
    { budget: { minRemaining: "5" } },
    { budget: { minRemaining: "5", memberID: "m-1" } },
    "budget.keyID and budget.minRemaining need budget.memberID: set it, budgets are read by member",
  ),
  account(
    { speech: { maxCharacters: 1_000_001 } },
    { speech: { maxCharacters: 1_000_000 } },
    "spec.speech.maxCharacters in body should be less than or equal to 1000000",
  ),
  account({ apiKeySecretRef: null }, {}, "spec.apiKeySecretRef: Required value"),
  clusterAccount({ apiKeySecretRef: { namespace: null } }, {}, "spec.apiKeySecretRef.namespace: Required value"),
  ...[
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0/8",
    "256.0.0.0/8",
    "010.0.0.0/8",
    "fd00::/129",
    "fd00::1::/64",
    "1:2:3:4:5:6:7:8:9/64",
    "::ffff:10.0.0.0/104",
    "fe80::1%eth0/64",
    "metadata.internal",
    "10.0.0.0/8 ",
    "",
  ].map((network) =>
    clusterAccount(
      { results: { allowedPrivateNetworks: [network] } },
      {
        results: { allowedPrivateNetworks: ["10.0.0.0/8", "127.0.0.1/32", "fd00::/8", "::1/128", "::/0", "0.0.0.0/0"] },
      },
      "results.allowedPrivateNetworks must be a network in CIDR notation, such as 10.0.0.0/8 or fd00::/8",
    ),
  ),
  clusterAccount(
    { results: { allowedPrivateNetworks: Array.from({ length: 33 }, (_, index) => `10.${index}.0.0/16`) } },
    { results: { allowedPrivateNetworks: Array.from({ length: 32 }, (_, index) => `10.${index}.0.0/16`) } },
    "spec.results.allowedPrivateNetworks: Too many: 33: must have at most 32 items",
  ),
  clusterAccount(
    { allowedNamespaces: { matchExpressions: [{ key: "team", operator: "In" }] } },
    { allowedNamespaces: { matchLabels: { team: "a" }, matchExpressions: [{ key: "team", operator: "Exists" }] } },
    "values is required with In and NotIn, and not allowed with Exists and DoesNotExist",
  ),
];
