import type { Assumptions } from "./assumptions.ts";
import { checkLimits } from "./endpoint-rules.ts";
import type { Random } from "./random.ts";
import { refuse } from "./refusal.ts";
import type { Parameters } from "./requests/endpoint.ts";

/** Parameters that an update cannot change. */
export type CreateOnly = "appName" | "products" | "rootfsSize";

export type StoredEndpoint = {
  id: string;
  /** Order of creation. */
  seq: number;
  parameters: Parameters & { appName: string };
  url: string;
  regionID: string;
  memberID: string;
  ownerID: string;
  createdAtMs: number;
  /** Lists show the endpoint from this time on. */
  listedAtMs: number;
  servesAtMs: number;
  /** When a deletion completes; absent if none is in progress. */
  deletedAtMs?: number;
  workers: { id: string; readyAtMs: number }[];
  /** Overrides the status that follows from the times. */
  status?: { status: string; error: string; message: string };
};

export type SimulatedGeneration = "current" | "earlier";

export type SimulatedEndpoints = {
  create(parameters: Parameters, member: string): StoredEndpoint;
  /** `parameters` in full; one that is absent is cleared. What only a create can set is kept. */
  update(id: string, parameters: Omit<Parameters, CreateOnly>): StoredEndpoint;
  find(id: string): StoredEndpoint | undefined;
  /**
   * `members`: as in `listed`. `generation`: as a read of this generation sees it; without one, as the service does.
   * @throws Refusal SERVERLESS_ENDPOINT_NOT_FOUND
   */
  get(id: string, members?: string[], generation?: SimulatedGeneration): StoredEndpoint;
  /** Those that lists show now, in the order of lists. `members`: the filter of the query; `seen`: what the key may see. */
  listed(filter: {
    generation: SimulatedGeneration;
    keyword?: string;
    members?: string[];
    seen?: string[] | undefined;
  }): StoredEndpoint[];
  all(): StoredEndpoint[];
  /** Deletes immediately. Returns whether the endpoint existed. */
  delete(id: string): boolean;
  /** Deletes as the service does, after `deleteDelayMs`. @throws Refusal as `get` */
  startDeletion(id: string): void;
  /** Sets the parameters without any check, and scales the workers. */
  replace(endpoint: StoredEndpoint, parameters: StoredEndpoint["parameters"]): void;
  now(): number;
};

type EndpointsContext = {
  config: () => Assumptions;
  random: Random;
  now: () => number;
  /** Called before the workers or GPUs of an endpoint change, for the bill. */
  beforeChange: (endpoint: StoredEndpoint) => void;
};

export function createEndpoints(context: EndpointsContext): SimulatedEndpoints {
  const { config, random, now } = context;
  const { byID, appNames, present, remove, replace, add } = createStored(context);
  let seq = 0;

  /** Whether a generation knows an endpoint by now. */
  function isKnown({ createdAtMs }: StoredEndpoint, generation: SimulatedGeneration): boolean {
    const { generationDelayMs, timeScale } = config();
    return now() >= createdAtMs + generationDelayMs[generation] * timeScale;
  }

  function get(id: string, members?: string[], generation?: SimulatedGeneration): StoredEndpoint {
    const endpoint = present().get(id);
    const seen = endpoint !== undefined && members?.includes(endpoint.memberID) !== false;
    if (!seen || (generation !== undefined && !isKnown(endpoint, generation))) throw refuse.endpointNotFound(id);
    return endpoint;
  }

  return {
    create: (parameters, member) => {
      checkLimits(parameters, config());
      const id = random.hex(16);
      const appName = parameters.appName || id;
      present();
      if (config().duplicateAppName === "Refuse" && appNames.has(appName)) throw refuse.appNameTaken(appName);
      const endpoint = createdEndpoint({ id, seq: seq++, memberID: member, createdAtMs: now() }, config(), {
        ...parameters,
        appName,
      });
      add(endpoint);
      return endpoint;
    },
    update: (id, parameters) => {
      const endpoint = get(id);
      const { appName, products, rootfsSize } = endpoint.parameters;
      const next = { ...parameters, appName, products, rootfsSize };
      checkLimits(next, config());
      replace(endpoint, next);
      return endpoint;
    },
    find: (id) => present().get(id),
    get,
    listed: ({ generation, keyword, members, seen }) => {
      const found = [...present().values()].filter(
        (endpoint) =>
          endpoint.listedAtMs <= now() &&
          isKnown(endpoint, generation) &&
          (members === undefined || members.includes(endpoint.memberID)) &&
          (seen === undefined || seen.includes(endpoint.memberID)) &&
          (keyword === undefined ||
            config().keywordSearches.some((field) => textOf(endpoint, field).includes(keyword))),
      );
      return config().listOrder === "NewestFirst" ? found.reverse() : found;
    },
    all: () => [...present().values()],
    delete: (id) => {
      const endpoint = byID.get(id);
      return endpoint !== undefined && remove(endpoint);
    },
    startDeletion: (id) => {
      const endpoint = get(id);
      const { deleteDelayMs, deletingStatus, timeScale } = config();
      endpoint.deletedAtMs ??= now() + deleteDelayMs * timeScale;
      endpoint.status = { status: deletingStatus, error: "", message: "" };
      present();
    },
    replace,
    now,
  };
}

const bootMs = ({ bootDelayMs, timeScale }: Assumptions) => bootDelayMs * timeScale;

function createdEndpoint(
  own: Pick<StoredEndpoint, "id" | "seq" | "memberID" | "createdAtMs">,
  config: Assumptions,
  parameters: StoredEndpoint["parameters"],
): StoredEndpoint {
  return {
    ...own,
    parameters,
    url: `https://${parameters.appName}.endpoints.invalid`,
    regionID: "region-1",
    ownerID: "owner-1",
    listedAtMs: own.createdAtMs + config.listDelayMs * config.timeScale,
    servesAtMs: own.createdAtMs + bootMs(config),
    workers: [],
  };
}

/** The endpoints, with their workers and app names. */
function createStored({ config, random, now, beforeChange }: EndpointsContext) {
  const byID = new Map<string, StoredEndpoint>();
  const appNames = new Map<string, string>();

  function scale(endpoint: StoredEndpoint): void {
    const { minNum } = endpoint.parameters.workerConfig;
    endpoint.workers.length = Math.min(endpoint.workers.length, minNum);
    while (endpoint.workers.length < minNum) {
      endpoint.workers.push({ id: `worker-${random.hex(12)}`, readyAtMs: now() + bootMs(config()) });
    }
  }

  function remove(endpoint: StoredEndpoint): boolean {
    const { id, parameters } = endpoint;
    beforeChange(endpoint);
    if (appNames.get(parameters.appName) === id) appNames.delete(parameters.appName);
    return byID.delete(id);
  }

  /** Returns the endpoints after it has removed those whose deletion is complete. */
  function present(): Map<string, StoredEndpoint> {
    for (const endpoint of byID.values())
      if ((endpoint.deletedAtMs ?? Number.POSITIVE_INFINITY) <= now()) remove(endpoint);
    return byID;
  }

  function replace(endpoint: StoredEndpoint, parameters: StoredEndpoint["parameters"]): void {
    beforeChange(endpoint);
    if (appNames.get(endpoint.parameters.appName) === endpoint.id) appNames.delete(endpoint.parameters.appName);
    appNames.set(parameters.appName, endpoint.id);
    endpoint.parameters = parameters;
    scale(endpoint);
  }

  function add(endpoint: StoredEndpoint): void {
    scale(endpoint);
    byID.set(endpoint.id, endpoint);
    appNames.set(endpoint.parameters.appName, endpoint.id);
  }

  return { byID, appNames, present, remove, replace, add };
}

function textOf({ id, parameters }: StoredEndpoint, field: "id" | "name" | "appName"): string {
  return field === "id" ? id : (parameters[field] ?? "");
}
