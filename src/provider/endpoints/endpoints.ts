import type { SendOptions } from "../call-options.ts";
import type { ServiceClient } from "../client.ts";
import { ServiceError } from "../errors.ts";
import type { EndpointSpec, Endpoints } from "../types.ts";
import { createBody, hiddenValues, updateBody } from "./body.ts";
import { type EndpointRecord, withDetails } from "./endpoint-record.ts";
import type { EndpointLimits } from "./limits.ts";
import { endpointPages, type Generation } from "./pages.ts";
import { createEndpointSweep, type EndpointSweep, type EndpointSweepOptions } from "./sweep.ts";

export type EndpointSettings = Pick<
  EndpointSweepOptions,
  "generation" | "pageSize" | "intervalMs" | "wanted" | "expected"
> & {
  /** Whether `details` are needed: false makes no call for them. */
  detailsWanted: () => boolean;
};

/** `onChange`: also for an endpoint that is missing in a list for the first time. */
export type EndpointsOptions = Pick<
  EndpointSweepOptions,
  "onChange" | "onListed" | "onError" | "records" | "clock" | "log"
> & { client: ServiceClient; settings: EndpointSettings };

export type EndpointsService = Endpoints & {
  /** Reads the parameter limits, which `limits` then returns. */
  readLimits(signal: AbortSignal): Promise<EndpointLimits>;
  keyChanged(): void;
  start(): void;
  stop(): Promise<void>;
};

/** Details change with the volumes, which every list shows. They are read once in this many intervals. */
const DETAILS_EVERY_SWEEPS = 10;
const SEARCH_PAGE_SIZE = 100;

/** Both generations behind one interface. */
export function createEndpoints(options: EndpointsOptions): EndpointsService {
  const { client, settings } = options;
  const observed = createEndpointSweep({ ...options, ...settings, onMissing: options.onChange });
  const details = createDetails(options);
  const { deleteEndpoint } = client;
  let limits: EndpointLimits | undefined;

  return {
    observed,
    read: (id, signal) => readOne(options, observed, id, signal),
    async complete(record, when, signal) {
      if (details === undefined) return record;
      if (when === "Now") details.observe(await readDetails(client, record.id, signal));
      // A failed list is reported by the list itself. A field that it does not show cannot differ.
      else await details.first(signal).catch(() => undefined);
      const detailed = details.get(record.id);
      return detailed === undefined ? record : withDetails(record, detailed);
    },
    find: (appName, signal) => findByAppName(options, observed, appName, signal),
    list: (keyword, signal) => listAll(options, settings.generation, keyword, signal),
    async completeAll(records, signal) {
      if (details === undefined || records.length === 0) return records;
      const detailed = await listAll(options, "Earlier", "", signal);
      const byID = new Map(detailed.map((record) => [record.id, record]));
      return records.map((record) => {
        const more = byID.get(record.id);
        return more === undefined ? record : withDetails(record, more);
      });
    },
    create: (spec, send) => client.createEndpoint(createBody(spec), { ...send, hidden: hiddenValues(spec) }),
    async update(id: string, spec: EndpointSpec, send: SendOptions) {
      try {
        await client.updateEndpoint(updateBody(id, spec), { ...send, hidden: hiddenValues(spec) });
      } finally {
        // Also when the call failed: the update may have taken effect.
        observed.wrote(id);
        details?.forget(id);
      }
    },
    delete:
      deleteEndpoint === undefined
        ? undefined
        : async (id, send) => {
            try {
              await deleteEndpoint({ endpointID: id }, send);
            } finally {
              observed.wrote(id);
            }
          },
    limits: () => limits,
    async readLimits(signal) {
      limits = await client.getEndpointLimits({}, { signal, lane: "first" });
      return limits;
    },
    keyChanged() {
      observed.keyChanged();
      details?.keyChanged();
    },
    start() {
      observed.start();
      details?.start();
    },
    async stop() {
      await Promise.all([observed.stop(), details?.stop()]);
    },
  };
}

/** What only the earlier generation lists. undefined: it is the one that is used, and its list and its reads show everything. */
function createDetails(options: EndpointsOptions): EndpointSweep | undefined {
  const { generation, pageSize, intervalMs, detailsWanted, expected } = options.settings;
  if (generation === "Earlier") return undefined;
  return createEndpointSweep({
    ...options,
    onListed: undefined,
    generation: "Earlier",
    pageSize,
    intervalMs: DETAILS_EVERY_SWEEPS * intervalMs,
    wanted: detailsWanted,
    expected,
  });
}

async function readOne(
  { client, settings }: EndpointsOptions,
  observed: EndpointSweep,
  id: string,
  signal: AbortSignal,
): Promise<EndpointRecord | undefined> {
  const session = observed.session();
  const earlier = settings.generation === "Earlier";
  try {
    const record = earlier
      ? await client.getEndpointEarlier({ id }, { signal })
      : await client.getEndpoint({ endpointID: id }, { signal });
    if (record.id !== id) {
      throw new ServiceError({
        operation: earlier ? "getEndpointEarlier" : "getEndpoint",
        kind: "UnreadableResponse",
        delivery: "Accepted",
        message: `the request names endpoint ${id}, and the response shows another endpoint`,
      });
    }
    observed.observe(record, session);
    return record;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== "NotFound") throw error;
    if (observed.session() === session) observed.notFound(id);
    return undefined;
  }
}

/** For an endpoint that was just read: if the other generation does not know it, the service contradicts itself. */
async function readDetails(client: ServiceClient, id: string, signal: AbortSignal): Promise<EndpointRecord> {
  try {
    return await client.getEndpointEarlier({ id }, { signal });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== "NotFound") throw error;
    throw new ServiceError({
      operation: "getEndpointEarlier",
      kind: "UnreadableResponse",
      delivery: "Accepted",
      message: `a read and the list show endpoint ${id}, and this operation does not know it`,
    });
  }
}

/** `keyword` only narrows the list: the interface does not show what it matches. */
async function findByAppName(
  { client, settings, clock }: EndpointsOptions,
  observed: EndpointSweep,
  appName: string,
  signal: AbortSignal,
): Promise<EndpointRecord[]> {
  if (settings.generation === "Earlier") {
    // This list has no search, so all callers share one pass over it.
    await observed.next(signal);
    return observed.byAppName(appName);
  }
  const session = observed.session();
  const query = { client, generation: "Current", pageSize: SEARCH_PAGE_SIZE, clock, keyword: appName } as const;
  const found = new Map<string, EndpointRecord>();
  for await (const { record } of endpointPages(query, signal)) {
    if (record.appName !== appName) continue;
    observed.observe(record, session);
    found.set(record.id, record);
  }
  return [...found.values()];
}

async function listAll(
  { client, settings, clock }: EndpointsOptions,
  generation: Generation,
  keyword: string,
  signal: AbortSignal,
): Promise<EndpointRecord[]> {
  const { pageSize } = settings;
  const records = new Map<string, EndpointRecord>();
  const expected = settings.expected();
  const query = { client, generation, pageSize, clock, expected, ...(keyword === "" ? {} : { keyword }) };
  for await (const { record } of endpointPages(query, signal)) {
    // The earlier generation has no search.
    if (generation === "Current" || matches(record, keyword)) records.set(record.id, record);
  }
  return [...records.values()];
}

function matches({ id, name, appName }: EndpointRecord, keyword: string): boolean {
  return [id, name, appName].some((text) => text.includes(keyword));
}
