import { clusterAccountResource } from "../../../src/api/v1alpha1/kinds.ts";
import type { KubeObject } from "../../../src/kube/types.ts";
import { manifest } from "../../support/manifests.ts";
import { waitForCondition } from "../../support/world.ts";
import { of, type Scene, secret } from "./stage.ts";

const BUDGET = [{ memberID: "member-1", keyName: "default", type: "One-time" as const, limit: 0 }];

export const ACCOUNT_SCENES: readonly Scene[] = [
  {
    reason: "Unauthorized",
    kind: "Account",
    name: "wrong-key",
    when: "The service refuses the key of the account.",
    async arrange({ world, account }) {
      await world.apply(secret("wrong-key", { apiKey: "not-a-key" }));
      await account("wrong-key", { spec: { apiKeySecretRef: { name: "wrong-key", key: "apiKey" } } });
    },
    commands: [`kubectl patch secret wrong-key -n team-a --type=merge -p '{"stringData":{"apiKey":"YOUR-KEY"}}'`],
  },
  {
    reason: "AccountNotReady",
    kind: "SpeechJob",
    name: "greeting",
    condition: "Reconciling",
    when: "The account of the object cannot be used. Every object of the account waits and continues when the account is Ready.",
    async arrange({ world, account }) {
      await account("no-key", { spec: { apiKeySecretRef: { name: "no-key", key: "apiKey" } } });
      await world.apply(manifest("turbo", of("no-key"), "greeting"));
    },
    advice: "`mooring explain account/no-key` names what is wrong with the account. Here, its Secret is missing:",
    commands: ["kubectl create secret generic no-key -n team-a --from-literal=apiKey=YOUR-KEY"],
  },
  {
    reason: "AddressNotAllowed",
    kind: "Account",
    name: "default",
    world: "guarded",
    when: "The base URL of an Account is a private address. A store or a result URL with such an address has the same reason.",
    arrange: async () => {},
    advice:
      "Use a ClusterAccount, or ask the administrator of the operator for `--allow-private-networks`. To remove the Account:",
    commands: ["kubectl delete account default -n team-a"],
  },
  {
    reason: "AccountNotFound",
    kind: "SpeechJob",
    name: "nobody",
    when: "`spec.accountRef` names an account that does not exist. `accountRef` of a job cannot be changed.",
    arrange: ({ world }) => world.apply(manifest("turbo", of("production"), "nobody")),
    advice: "Create the account, or delete the job and apply it with another `accountRef`:",
    commands: ["kubectl delete speechjob nobody -n team-a"],
  },
  {
    reason: "AccountMismatch",
    kind: "GpuEndpoint",
    name: "moved",
    when: "`baseURL` of the account was changed, and the object is bound to the old one. Mooring never sends a request for the object to another service.",
    async arrange({ world, account, service }) {
      await account("moved");
      await world.apply(manifest("endpoint", of("moved"), "moved"));
      await waitForCondition(world, "GpuEndpoint", "moved", "Ready");
      const other = await service("https://other.example.com");
      await world.patch("Account", "moved", { spec: { baseURL: other.url } });
    },
    commands: { explained: "kubectl patch account" },
  },
  {
    reason: "NamespaceNotAllowed",
    kind: "SpeechJob",
    name: "outsider",
    when: "The ClusterAccount does not allow the namespace of the object.",
    async arrange({ world, replaced, onClose }) {
      const name = `shared-${world.namespace}`;
      replaced.set(name, "shared");
      await world.kube.create(clusterAccountResource, {}, {
        apiVersion: "mooring.dev/v1alpha1",
        kind: "ClusterAccount",
        metadata: { name },
        spec: {
          baseURL: world.simulator.url,
          apiKeySecretRef: { namespace: world.namespace, name: "key", key: "apiKey" },
          allowedNamespaces: { matchLabels: { gpu: "allowed" } },
        },
      } as KubeObject);
      onClose(() => world.kube.delete(clusterAccountResource, { name }));
      await world.apply(manifest("turbo", { accountRef: { kind: "ClusterAccount", name } }, "outsider"));
    },
    advice:
      "The administrator of the cluster labels the namespace as `spec.allowedNamespaces` asks. Mooring sees it within a minute:",
    commands: ["kubectl label namespace team-a gpu=allowed"],
  },
  {
    reason: "BudgetExceeded",
    kind: "SpeechJob",
    name: "expensive",
    condition: "Reconciling",
    when: "The budget of the account is used up, and `budget.action` is HoldNew.",
    async arrange({ world, account }) {
      await account("spent", {
        service: { budgets: BUDGET, enforceBudgets: false },
        spec: { budget: { memberID: "member-1", reservePerTask: "0.2", action: "HoldNew" } },
      });
      await waitForCondition(world, "Account", "spent", "BudgetExceeded");
      await world.apply(manifest("hd", of("spent"), "expensive"));
    },
    advice: "Raise the budget at the service, or send new work in spite of the budget:",
    commands: [`kubectl patch account spent -n team-a --type=merge -p '{"spec":{"budget":{"action":"Warn"}}}'`],
  },
  {
    reason: "InUse",
    kind: "Account",
    name: "leaving",
    condition: "Ready",
    when: "The account is being deleted, and objects still need it. The message names them.",
    async arrange({ world, account }) {
      await account("leaving");
      await world.apply(manifest("endpoint", of("leaving"), "tenant"));
      await waitForCondition(world, "GpuEndpoint", "tenant", "Ready");
      await world.remove("Account", "leaving");
    },
    commands: ["kubectl delete gpuendpoint tenant -n team-a"],
  },
];
