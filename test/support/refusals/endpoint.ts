import { type Refusal, refusalsOf } from "./refusal.ts";

const fromSecret = { secretKeyRef: { name: "tokens", key: "hub" } };
const fromConfigMap = { configMapKeyRef: { name: "settings", key: "model" } };
const network = { type: "network", id: "storage-1", mountPath: "/models" };

const endpoint = refusalsOf("endpoint");

export const endpointRefusals: readonly Refusal[] = [
  ...[2222, 2223, 2224].map((port) =>
    endpoint(
      { port },
      { port: port === 2224 ? 2225 : 2221 },
      "port must not be 2222, 2223 or 2224, which the service uses itself: choose another from 1 to 65535",
    ),
  ),
  endpoint(
    { port: 0 },
    { port: 1 },
    "spec.port: Invalid value: 0: spec.port in body should be greater than or equal to 1",
  ),
  endpoint({ port: 65_536 }, { port: 65_535 }, "should be less than or equal to 65535"),
  endpoint(
    { workers: { min: 3 } },
    { workers: { min: 2 } },
    "workers.min must not be above workers.max: lower min or raise max",
  ),
  endpoint(
    { volumes: [network] },
    { volumes: [network], clusterID: "cluster-1" },
    "clusterID is required with a network volume: set it to the cluster of that storage",
  ),
  endpoint(
    { volumes: [{ type: "local", id: "storage-1", mountPath: "/a" }] },
    { volumes: [{ type: "local", mountPath: "/a" }] },
    "id is for network volumes only: remove it, or set type to network",
  ),
  endpoint(
    { volumes: [{ ...network, sizeGB: 30 }], clusterID: "cluster-1" },
    { volumes: [network], clusterID: "cluster-1" },
    "sizeGB is for local volumes only: remove it, a network storage has its own size",
  ),
  endpoint(
    { volumes: [{ type: "network", mountPath: "/a" }], clusterID: "cluster-1" },
    { volumes: [network], clusterID: "cluster-1" },
    "a network volume needs id: set it to the identifier of the network storage",
  ),
  endpoint(
    { volumes: [{ type: "nfs", mountPath: "/a" }] },
    { volumes: [{ type: "local", sizeGB: 30, mountPath: "/a" }] },
    'spec.volumes[0].type: Unsupported value: "nfs": supported values:',
  ),
  endpoint(
    {
      volumes: [
        { type: "local", mountPath: "/a" },
        { type: "local", mountPath: "/a" },
      ],
    },
    {
      volumes: [
        { type: "local", mountPath: "/a" },
        { type: "local", mountPath: "/b" },
      ],
    },
    "spec.volumes[1]: Duplicate value",
  ),
  endpoint(
    { env: [{ name: "A", value: "1", valueFrom: fromSecret }] },
    { env: [{ name: "A", valueFrom: fromSecret }] },
    "an env entry needs exactly one of value and valueFrom: set one, remove the other",
  ),
  endpoint(
    { env: [{ name: "A" }] },
    { env: [{ name: "A", value: "" }] },
    "an env entry needs exactly one of value and valueFrom: set one, remove the other",
  ),
  endpoint(
    { env: [{ name: "A", valueFrom: { ...fromSecret, ...fromConfigMap } }] },
    { env: [{ name: "A", valueFrom: fromConfigMap }] },
    "valueFrom needs exactly one of secretKeyRef and configMapKeyRef: set one, remove the other",
  ),
  endpoint(
    { env: [{ name: "A", valueFrom: {} }] },
    { env: [{ name: "A", valueFrom: fromSecret }] },
    "valueFrom needs exactly one of secretKeyRef and configMapKeyRef: set one, remove the other",
  ),
  endpoint(
    {
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
    },
    {
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "1" },
      ],
    },
    "spec.env[1]: Duplicate value",
  ),
  endpoint(
    { env: [{ name: "A".repeat(512), value: "1" }] },
    { env: [{ name: "A".repeat(511), value: "1" }] },
    "spec.env[0].name: Too long: may not be more than 511",
  ),
  endpoint(
    { env: [{ name: "A", value: "1".repeat(4096) }] },
    { env: [{ name: "A", value: "1".repeat(4095) }] },
    "spec.env[0].value: Too long: may not be more than 4095",
  ),
  endpoint(
    { appName: "Chat_7B" },
    { appName: "chat-7b" },
    "appName must be a DNS label: lower-case letters, digits and '-', at most 63 characters, a letter or digit first and last",
  ),
  endpoint({ name: "n".repeat(221) }, { name: "n".repeat(220) }, "spec.name: Too long: may not be more than 220"),
  endpoint({ image: "i".repeat(512) }, { image: "i".repeat(511) }, "spec.image: Too long: may not be more than 511"),
  endpoint(
    { command: "c".repeat(2048) },
    { command: "c".repeat(2047) },
    "spec.command: Too long: may not be more than 2047",
  ),
  endpoint({ products: [] }, { products: [{ id: "a" }] }, "spec.products in body should have at least 1 items"),
  endpoint(
    { products: Array.from({ length: 9 }, (_, index) => ({ id: `p${index}` })) },
    { products: Array.from({ length: 8 }, (_, index) => ({ id: `p${index}` })) },
    "spec.products: Too many: 9: must have at most 8 items",
  ),
  endpoint({ healthCheck: null }, {}, "spec.healthCheck: Required value"),
  endpoint(
    { policy: { type: "cpu" } },
    { policy: { type: "concurrency" } },
    'spec.policy.type: Unsupported value: "cpu": supported values: "queue", "concurrency"',
  ),
  endpoint(
    { managementPolicy: "None" },
    { managementPolicy: "Observe" },
    'spec.managementPolicy: Unsupported value: "None": supported values: "Full", "Observe"',
  ),
  endpoint(
    { deletionPolicy: "Orphan" },
    { deletionPolicy: "Retain" },
    'spec.deletionPolicy: Unsupported value: "Orphan": supported values: "ScaleToZero", "Retain", "Delete"',
  ),
  endpoint(
    { driftPolicy: "Ignore" },
    { driftPolicy: "Report" },
    'spec.driftPolicy: Unsupported value: "Ignore": supported values: "Remediate", "Report"',
  ),
  endpoint(
    { ignoreDrift: ["workers.minimum"] },
    { ignoreDrift: ["workers.min"] },
    'spec.ignoreDrift[0]: Unsupported value: "workers.minimum": supported values: "name"',
  ),
  endpoint(
    { adoption: { endpointID: "e-1", mode: "Force" } },
    { adoption: { endpointID: "e-1", mode: "Override" } },
    'spec.adoption.mode: Unsupported value: "Force": supported values: "Match", "Override"',
  ),
  endpoint(
    { exportTo: {} },
    { exportTo: { configMap: { name: "endpoint" } } },
    "exportTo needs configMap or secret: name at least one object to write, or remove exportTo",
  ),
  endpoint(
    { exportTo: { secret: { name: "My_Secret" } } },
    { exportTo: { secret: { name: "my-secret" } } },
    "must be the name of a Kubernetes object: lower-case letters, digits, '-' and '.', at most 253 characters",
  ),
  endpoint(
    { accountRef: { kind: "Secret", name: "a" } },
    { accountRef: { kind: "ClusterAccount", name: "a" } },
    'spec.accountRef.kind: Unsupported value: "Secret": supported values: "Account", "ClusterAccount"',
  ),
];
