import { ABSENT } from "../requests.ts";
import {
  fields,
  inEach,
  letters,
  NO_INTEGER,
  NO_LIST,
  NO_OBJECT,
  NO_STRING,
  type Rule,
  ships,
  testRules,
} from "./rule.ts";

const network = { type: "network", id: "disk-1", mountPath: "/data" };
const local = { type: "local", size: 30, mountPath: "/scratch" };

const ENDPOINT_RULES: Rule[] = [
  ...inEach(
    [
      ["createEndpoint", "endpoint."],
      ["updateEndpoint", ""],
    ],
    [
      {
        field: "name",
        rule: "0-220 characters",
        refused: [letters(221), ...NO_STRING],
        accepted: ["", ships(220), ABSENT],
      },
      { field: "clusterID", rule: "0-255 characters", refused: [letters(256), ...NO_STRING], accepted: [ships(255)] },
      { field: "clusterID", rule: "required with cloud storage", refused: [ABSENT, ""] },
      ...fields(
        ["minNum", "maxNum", "freeTimeout", "maxConcurrent", "gpuNum", "requestTimeout"].map(
          (n) => `workerConfig.${n}`,
        ),
        {
          rule: "integer, required",
          refused: [ABSENT, ...NO_INTEGER],
          accepted: [1],
        },
      ),
      ...fields(["workerConfig", "ports", "policy", "image", "healthy"], {
        rule: "required",
        refused: [ABSENT, null, "x", 1],
      }),
      { field: "ports", rule: "exactly one port", refused: [[], [{ port: "80" }, { port: "81" }], ["80"]] },
      {
        field: "ports.0.port",
        rule: "1-65535, without 2222, 2223 and 2224",
        refused: [ABSENT, null, "0", "65536", "2222", "2223", "2224", "-1", "80.5", "http", ""],
        accepted: ["1", "65535", "2221", "2225"],
      },
      {
        field: "policy.type",
        rule: "queue or concurrency",
        refused: [ABSENT, "cpu", "", 1],
        accepted: ["queue", "concurrency"],
      },
      { field: "policy.value", rule: "integer", refused: [ABSENT, ...NO_INTEGER], accepted: [1, 1000] },
      {
        field: "image.image",
        rule: "0-511 characters, required",
        refused: [ABSENT, letters(512), ...NO_STRING],
        accepted: [ships(511)],
      },
      {
        field: "image.authId",
        rule: "0-255 characters",
        refused: [letters(256), ...NO_STRING],
        accepted: ["", ships(255), ABSENT],
      },
      {
        field: "image.command",
        rule: "0-2047 characters",
        refused: [letters(2048), ...NO_STRING],
        accepted: ["", ships(2047), ABSENT],
      },
      { field: "volumeMounts.0.type", rule: "local or network", refused: [ABSENT, "cloud", 1] },
      {
        field: "volumeMounts.0.mountPath",
        rule: "0-255 characters, required",
        refused: [ABSENT, letters(256), ...NO_STRING],
        accepted: ["", ships(255)],
      },
      { field: "volumeMounts.0.size", rule: "integer", refused: NO_INTEGER, accepted: [30, ABSENT] },
      { field: "volumeMounts.0.size", rule: "fixed at 30", refused: [29, 31] },
      { field: "volumeMounts.0.id", rule: "omitted for local", refused: ["disk-1", null] },
      { field: "volumeMounts.1.size", rule: "omitted for network", refused: [30, null] },
      { field: "volumeMounts.1.id", rule: "network storage id", refused: [ABSENT, 1, null] },
      { field: "volumeMounts", rule: "a list", refused: NO_LIST, accepted: [[], [local], [network], [local, network]] },
      { field: "envs", rule: "a list", refused: [...NO_LIST, ["A=1"]], accepted: [[], ABSENT] },
      ...fields(["envs.0.key", "envs.0.value"], {
        rule: "string, required",
        refused: [ABSENT, ...NO_STRING],
        accepted: [""],
      }),
      { field: "healthy.path", rule: "string, required", refused: [ABSENT, ...NO_STRING] },
      ...fields(
        ["extra", "workerConfig.extra", "policy.extra", "image.extra", "healthy.extra", "volumeMounts.0.extra"],
        {
          rule: "not a field",
          refused: [1],
        },
      ),
    ],
  ),
  { operation: "createEndpoint", field: "endpoint", rule: "required", refused: [ABSENT, ...NO_OBJECT] },
  {
    operation: "createEndpoint",
    field: "endpoint.appName",
    rule: "optional string",
    refused: NO_STRING,
    accepted: ["mine", ABSENT],
  },
  {
    operation: "createEndpoint",
    field: "endpoint.products",
    rule: "required",
    refused: [ABSENT, ...NO_LIST, [], ["p"]],
  },
  { operation: "createEndpoint", field: "endpoint.products.0.id", rule: "required", refused: [ABSENT, ...NO_STRING] },
  {
    operation: "createEndpoint",
    field: "endpoint.rootfsSize",
    rule: "integer, required",
    refused: [ABSENT, ...NO_INTEGER],
  },
  {
    operation: "createEndpoint",
    field: "endpoint.rootfsSize",
    rule: "fixed at 100",
    refused: [99, 101],
  },
  { operation: "createEndpoint", field: "endpoint.volumeMounts", rule: "required", refused: [ABSENT] },
  { operation: "updateEndpoint", field: "id", rule: "required", refused: [ABSENT, ...NO_STRING] },
  { operation: "updateEndpoint", field: "volumeMounts", rule: "optional", refused: [], accepted: [ABSENT] },
  ...fields(["appName", "products", "rootfsSize"], { rule: "not a field of update", refused: ["x"] }).map(
    (rule): Rule => ({ operation: "updateEndpoint", ...rule }),
  ),
  ...fields(["endpoint.products.0.id", "endpoint.volumeMounts.1.id"], {
    rule: "not shown whether it may be empty",
    refused: [],
    accepted: [""],
  }).map((rule): Rule => ({ operation: "createEndpoint", ...rule })),
];

testRules(ENDPOINT_RULES);
