import { manifest } from "../../../support/manifests.ts";
import { type AnyObject, condition } from "../../../support/world.ts";
import { type Stage, waitForCondition } from "../../stage/stage.ts";
import type { Scenario } from "../scenario.ts";

const NAME = "echo";
/** The number of the create: one that was surely not sent counts, too. */
const ATTEMPT = /^\.GpuEndpoint echo\.status\.submission\.attempt: /;
const syncs = { endpoints: { syncInterval: "1s" } };
const deleteOperation = { method: "DELETE", path: "/endpoints/{id}" } as const;

/** The endpoint serves its current spec. */
const served = (stage: Stage): Promise<AnyObject> =>
  stage.eventually("the endpoint serves its spec", async () => {
    const object = await stage.get("GpuEndpoint", NAME);
    const { generation } = object.metadata;
    const [ready, synced] = [condition(object, "Ready"), condition(object, "Synced")];
    const current = ready?.status === "True" && synced?.status === "True" && synced.observedGeneration === generation;
    return current && object.status?.["appliedGeneration"] === generation && object;
  });
const create = async (stage: Stage, change = {}): Promise<AnyObject> => {
  await stage.apply(manifest("endpoint", change, NAME));
  return served(stage);
};
const update = async (stage: Stage, spec: object): Promise<AnyObject> => {
  await stage.patch("GpuEndpoint", NAME, { spec });
  return served(stage);
};
const remove = async (stage: Stage): Promise<unknown> => {
  await stage.remove("GpuEndpoint", NAME);
  return stage.eventually("the endpoint is gone", async () => (await namesOf(stage)).every((name) => name !== NAME));
};
const namesOf = async (stage: Stage) => (await stage.list("GpuEndpoint")).map(({ metadata }) => metadata.name);
const firstRemote = async (stage: Stage): Promise<Record<string, unknown>> => {
  const [endpoint] = (await stage.state()).endpoints;
  if (endpoint === undefined) throw new Error("there is no remote endpoint");
  return endpoint;
};

export const ENDPOINT_SCENARIOS: readonly Scenario[] = [
  {
    name: "endpoint: create with an export",
    account: syncs,
    ignores: ATTEMPT,
    act: (stage) => create(stage, { exportTo: { configMap: { name: "address" } } }),
  },
  {
    name: "endpoint: create with a chosen app name",
    account: syncs,
    ignores: ATTEMPT,
    act: (stage) => create(stage, { appName: "chosen" }),
  },
  {
    name: "endpoint: update",
    account: syncs,
    prepare: create,
    act: (stage) => update(stage, { image: "registry.example.com/models/echo:2.0", workers: { max: 3 } }),
  },
  {
    name: "endpoint: suspend and resume",
    account: syncs,
    prepare: create,
    act: async (stage) => {
      await update(stage, { suspend: true });
      await update(stage, { suspend: false });
    },
  },
  {
    name: "endpoint: drift",
    account: syncs,
    prepare: create,
    act: async (stage) => {
      const { id } = await firstRemote(stage);
      await stage.control("POST", `/__state/endpoints/${String(id)}`, { workerConfig: { maxNum: 9 } });
      await stage.eventually("the drift is remediated", async () => {
        const { parameters } = await firstRemote(stage);
        return (parameters as { workerConfig: { maxNum: number } }).workerConfig.maxNum === 2;
      });
      await served(stage);
    },
  },
  ...(["ScaleToZero", "Retain", "Delete"] as const).map(
    (deletionPolicy): Scenario => ({
      name: `endpoint: delete with ${deletionPolicy}`,
      simulator: { deleteOperation },
      account: { endpoints: { ...syncs.endpoints, deleteOperation } },
      prepare: async (stage) => {
        await stage.apply(manifest("endpoint", {}, "neighbor"));
        await waitForCondition(stage, "GpuEndpoint", "neighbor", "Ready");
        await create(stage, { deletionPolicy });
      },
      act: remove,
    }),
  ),
  {
    name: "endpoint: delete the account's last endpoint",
    simulator: { deleteOperation },
    account: { endpoints: { ...syncs.endpoints, deleteOperation } },
    prepare: (stage) => create(stage, { deletionPolicy: "Delete" }),
    act: remove,
  },
];
