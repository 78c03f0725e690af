import { manifest } from "../../support/manifests.ts";
import { condition, eventually, type World, waitForCondition } from "../../support/world.ts";
import { endpointIDOf, of, reconcileNow, type Scene, type Stage, secret } from "./stage.ts";

const tokenFrom = (name: string) => ({
  env: [{ name: "TOKEN", valueFrom: { secretKeyRef: { name, key: "token" } } }],
});
const setToken = (name: string) =>
  `kubectl patch secret ${name} -n team-a --type=merge -p '{"stringData":{"token":"YOUR-TOKEN"}}'`;

async function serving(world: World, name: string, change: Record<string, unknown> = {}): Promise<string> {
  await world.apply(manifest("endpoint", change, name));
  return endpointIDOf(await waitForCondition(world, "GpuEndpoint", name, "Ready"));
}

/** An endpoint that exists at the service and has no object. */
async function remoteEndpoint(world: World, appName: string, account: string): Promise<string> {
  const id = await serving(world, appName, {
    ...of(account),
    appName,
    name: appName,
    deletionPolicy: "Retain",
  });
  await world.remove("GpuEndpoint", appName);
  await eventually("the object is gone", async () =>
    (await world.list("GpuEndpoint")).every(({ metadata }) => metadata.name !== appName),
  );
  return id;
}

/** Reverts each update that reads have shown for a moment, as another client would. */
async function revertUpdates({ world }: Stage, name: string, remote: Awaited<ReturnType<Stage["account"]>>) {
  const id = await serving(world, name, of(name));
  const max = async () => {
    const answer = await fetch(`${remote.url}/__state`);
    const { endpoints } = (await answer.json()) as { endpoints: { id: string; workerConfig?: { maxNum: number } }[] };
    return endpoints.find((one) => one.id === id)?.workerConfig?.maxNum;
  };
  let shown = 0;
  await eventually(
    "the fight is seen",
    async () => {
      shown = (await max()) === 7 ? 0 : shown + 1;
      if (shown > 20) await remote.control(`/__state/endpoints/${id}`, { workerConfig: { maxNum: 7 } });
      return condition(await world.get("GpuEndpoint", name), "Synced")?.reason === "DriftFight";
    },
    240_000,
  );
}

export const ENDPOINT_SCENES: readonly Scene[] = [
  {
    reason: "SecretNotFound",
    kind: "GpuEndpoint",
    name: "no-secret",
    when: "The spec refers to a Secret that does not exist.",
    arrange: ({ world }) => world.apply(manifest("endpoint", tokenFrom("hub"), "no-secret")),
    commands: ["kubectl create secret generic hub -n team-a --from-literal=token=YOUR-TOKEN"],
  },
  {
    reason: "SecretKeyMissing",
    kind: "GpuEndpoint",
    name: "no-secret-key",
    when: "The Secret or ConfigMap exists, and does not have the key.",
    async arrange({ world }) {
      await world.apply(secret("other-hub", { password: "hidden" }));
      await world.apply(manifest("endpoint", tokenFrom("other-hub"), "no-secret-key"));
    },
    commands: [setToken("other-hub")],
  },
  {
    reason: "ConfigMapNotFound",
    kind: "GpuEndpoint",
    name: "no-settings",
    when: "The spec refers to a ConfigMap that does not exist.",
    arrange: ({ world }) =>
      world.apply(
        manifest(
          "endpoint",
          { env: [{ name: "MODE", valueFrom: { configMapKeyRef: { name: "settings", key: "mode" } } }] },
          "no-settings",
        ),
      ),
    commands: ["kubectl create configmap settings -n team-a --from-literal=mode=fast"],
  },
  {
    reason: "InvalidSpec",
    kind: "GpuEndpoint",
    name: "long-value",
    when: "A value cannot be sent. The API server checks the fields of the spec; this is about values that it does not see, such as those of a Secret, and about stored objects that a newer rule refuses.",
    async arrange({ world }) {
      await world.apply(secret("long-token", { token: "x".repeat(5_000) }));
      await world.apply(manifest("endpoint", tokenFrom("long-token"), "long-value"));
    },
    commands: [setToken("long-token")],
  },
  {
    reason: "OutOfRange",
    kind: "GpuEndpoint",
    name: "too-many",
    when: "A value is outside the limits that the service reports for the account.",
    async arrange({ world, account }) {
      await account("small", { service: { limits: { maxWorkerNum: 4 } } });
      await world.apply(manifest("endpoint", { ...of("small"), workers: { max: 8 } }, "too-many"));
    },
    commands: [`kubectl patch gpuendpoint too-many -n team-a --type=merge -p '{"spec":{"workers":{"max":4}}}'`],
  },
  {
    reason: "RemoteRefused",
    kind: "GpuEndpoint",
    name: "refused",
    when: "The service refuses the request, and a retry does not help. The message quotes the service.",
    async arrange({ world, account }) {
      await account("storage", { service: { refuseUnknownStorage: true, storages: { models: "cluster-1" } } });
      const volumes = [{ type: "network", id: "model", mountPath: "/models" }];
      await world.apply(manifest("endpoint", { ...of("storage"), clusterID: "cluster-1", volumes }, "refused"));
    },
    commands: [
      `kubectl patch gpuendpoint refused -n team-a --type=merge -p '{"spec":{"volumes":[{"type":"network","id":"models","mountPath":"/models"}]}}'`,
    ],
  },
  {
    reason: "AppNameTaken",
    kind: "GpuEndpoint",
    name: "taken",
    when: "The account has an endpoint with this app name that the object did not create. Mooring never takes over an endpoint without being told to.",
    async arrange({ world, account }) {
      await account("taken");
      await remoteEndpoint(world, "chat-7b", "taken");
      await world.apply(manifest("endpoint", { ...of("taken"), appName: "chat-7b" }, "taken"));
    },
    advice:
      "Delete the object, which does nothing to that endpoint. Then apply it with another `appName`, or with the `adoption.endpointID` of the message:",
    commands: ["kubectl delete gpuendpoint taken -n team-a"],
  },
  {
    reason: "AlreadyBound",
    kind: "GpuEndpoint",
    name: "second",
    when: "Another GpuEndpoint of the cluster has the remote endpoint.",
    async arrange({ world, account }) {
      await account("shared");
      const endpointID = await serving(world, "first", of("shared"));
      await world.apply(manifest("endpoint", { ...of("shared"), adoption: { endpointID } }, "second"));
    },
    advice:
      "Delete one of the two. When you delete the object that is not bound, Mooring does not change the endpoint:",
    commands: ["kubectl delete gpuendpoint second -n team-a"],
  },
  {
    reason: "AdoptionMismatch",
    kind: "GpuEndpoint",
    name: "adopted",
    when: "The endpoint to adopt differs from the spec, and `adoption.mode` is Match.",
    async arrange({ world, account }) {
      await account("adopted");
      const endpointID = await remoteEndpoint(world, "chat-8b", "adopted");
      const image = "registry.example.com/models/echo:2.0";
      const change = { ...of("adopted"), name: "chat-8b", image, adoption: { endpointID, mode: "Match" } };
      await world.apply(manifest("endpoint", change, "adopted"));
    },
    advice: "Give the fields of the message the values of the endpoint, which `mooring import` prints:",
    commands: [
      `kubectl patch gpuendpoint adopted -n team-a --type=merge -p '{"spec":{"image":"registry.example.com/models/echo:1.0"}}'`,
    ],
  },
  {
    reason: "AdoptionNotFound",
    kind: "GpuEndpoint",
    name: "no-such-id",
    when: "The account has no endpoint with the ID of `adoption.endpointID`.",
    arrange: ({ world }) =>
      world.apply(manifest("endpoint", { adoption: { endpointID: "0123456789abcdef" } }, "no-such-id")),
    advice: "`mooring orphans` lists the IDs of endpoints without an object. `adoption` cannot be changed:",
    commands: ["kubectl delete gpuendpoint no-such-id -n team-a"],
  },
  {
    reason: "RemoteMissing",
    kind: "GpuEndpoint",
    name: "vanished",
    when: "The service shows neither the endpoint nor another one of the account. The key of another member shows the same, so this does not prove that the endpoint is gone.",
    async arrange({ world, account }) {
      const remote = await account("vanished");
      const id = await serving(world, "vanished", of("vanished"));
      await remote.control(`/__state/endpoints/${id}`, { delete: true });
    },
    advice: "Correct the key. If you know that the endpoint is gone, let Mooring create it again:",
    commands: { explained: "mooring.dev/reconcile-requested-at" },
  },
  {
    reason: "DriftFight",
    kind: "GpuEndpoint",
    name: "fought",
    condition: "Synced",
    when: "Another client keeps reverting an update. Mooring stopped sending it. The endpoint may still be Ready. A suspended endpoint that can run workers is not.",
    arrange: async (stage) => revertUpdates(stage, "fought", await stage.account("fought")),
    advice: "Find and stop the other client. Then let Mooring update the endpoint once more:",
    commands: [reconcileNow("gpuendpoint fought")],
  },
  {
    reason: "UpdateNotApplied",
    kind: "GpuEndpoint",
    name: "ignored",
    condition: "Synced",
    when: "The service accepts an update, and no read shows its values. Mooring repeats the update with backoff.",
    async arrange({ world, account }) {
      await account("ignored", { service: { updateIgnores: ["workerConfig"] } });
      await serving(world, "ignored", of("ignored"));
      await world.patch("GpuEndpoint", "ignored", { spec: { workers: { max: 3 } } });
    },
    advice: "Ask the support of the service, and leave the field to the service meanwhile:",
    commands: [
      `kubectl patch gpuendpoint ignored -n team-a --type=merge -p '{"spec":{"ignoreDrift":["workers.max"]}}'`,
    ],
  },
  {
    reason: "ExportConflict",
    kind: "GpuEndpoint",
    name: "exported",
    when: "`exportTo` names an object that exists and does not belong to the endpoint.",
    async arrange({ world }) {
      await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "chat" }, data: { owner: "you" } });
      await world.apply(manifest("endpoint", { exportTo: { configMap: { name: "chat" } } }, "exported"));
    },
    commands: ["kubectl delete configmap chat -n team-a"],
  },
  {
    reason: "DeleteNotConfigured",
    kind: "GpuEndpoint",
    name: "scratch",
    when: "The object is being deleted, `deletionPolicy` is Delete, and the account has no `endpoints.deleteOperation`.",
    async arrange({ world }) {
      await serving(world, "scratch", { deletionPolicy: "Delete" });
      await world.remove("GpuEndpoint", "scratch");
    },
    advice:
      "Set `endpoints.deleteOperation` in the account, or release the object. The endpoint then stays at the service:",
    commands: { explained: "mooring.dev/deletion-policy" },
  },
];
