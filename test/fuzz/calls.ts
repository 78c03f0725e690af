import { timeZone } from "../../src/provider/money/time-zone.ts";
import type { AccountSession, EndpointSpec } from "../../src/provider/types.ts";

/** What the calls find at the service. */
export type Known = {
  endpointID: string;
  taskID: string;
  /** Resolves when the bills or the budgets were read, or could not be. */
  moneyRead: Promise<void>;
};

/** A call of the provider layer, with all that it reads. Rejects as the provider does. */
export type Call = {
  name: string;
  /** At most one request per call, and it is sent under the journal. */
  once: boolean;
  run(session: AccountSession, known: Known): Promise<unknown>;
};

const { signal } = new AbortController();
/** A write is committed and checked as by its callers. */
const options = { signal, commit: async () => {}, beforeSend: () => {}, hidden: ["hidden-value-000"] };

/** Everything that an iteration yields. */
async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export const SPEC: EndpointSpec = {
  name: "chat",
  appName: "chat-1",
  products: ["gpu-4090-24g"],
  image: "registry.example.com/chat:1",
  command: "serve",
  registryAuthID: "",
  port: 8080,
  workers: { min: 1, max: 3, idleTimeoutSeconds: 60, maxConcurrency: 4, gpus: 1, requestTimeoutSeconds: 300 },
  policy: { type: "queue", value: 10 },
  rootfsSizeGB: 100,
  volumes: [{ type: "local", sizeGB: 30, mountPath: "/scratch" }],
  clusterID: "",
  env: [{ name: "TOKEN", value: "hidden-value-000", secret: true }],
  healthPath: "/health",
};
const SPEECH = { text: "Ahoy.", voiceSetting: { voiceID: "announcer" } };
const JANUARY = { startTime: 1_767_225_600, endTime: 1_769_904_000 };

export const CALLS: readonly Call[] = [
  { name: "probe", once: false, run: (session) => session.probe(signal) },
  { name: "read", once: false, run: ({ endpoints }, { endpointID }) => endpoints.read(endpointID, signal) },
  { name: "list", once: false, run: ({ endpoints }) => endpoints.list("", signal) },
  {
    name: "find",
    once: false,
    run(session) {
      session.start(); // one generation finds an app name in its list of all endpoints
      return session.endpoints.find(SPEC.appName, signal);
    },
  },
  { name: "create", once: true, run: ({ endpoints }) => endpoints.create(SPEC, options) },
  { name: "update", once: false, run: ({ endpoints }, { endpointID }) => endpoints.update(endpointID, SPEC, options) },
  {
    name: "delete",
    once: false,
    run: async ({ endpoints }, { endpointID }) => endpoints.delete?.(endpointID, options),
  },
  {
    name: "complete",
    once: false,
    async run({ endpoints }, { endpointID }) {
      const record = await endpoints.read(endpointID, signal);
      return record && endpoints.complete(record, "Now", signal);
    },
  },
  {
    name: "completeAll",
    once: false,
    run: async ({ endpoints }) => endpoints.completeAll(await endpoints.list("", signal), signal),
  },
  { name: "task", once: false, run: ({ tasks }, { taskID }) => tasks.read(taskID, signal) },
  {
    name: "speechURL",
    once: true,
    run: ({ speech }) => speech.synthesize({ ...SPEECH, outputFormat: "url" }, options, undefined),
  },
  {
    name: "speechBytes",
    once: true,
    run: ({ speech }) => speech.synthesize({ ...SPEECH, outputFormat: "hex" }, options, async () => {}),
  },
  {
    name: "speechStream",
    once: true,
    run: ({ speech }) => collect(speech.stream({ ...SPEECH, excludeAggregatedAudio: true }, options)),
  },
  { name: "speechTask", once: true, run: ({ speech }) => speech.submit(SPEECH, options) },
  {
    name: "imageToVideo",
    once: true,
    run: ({ video }) => video.imageToVideo({ prompt: "sea", imageURL: "https://images.example.com/sea.png" }, options),
  },
  {
    name: "videoToVideo",
    once: true,
    run: ({ video }) =>
      video.videoToVideo({ input: { prompt: "sea", referenceURLs: ["https://videos.example.com/sea.mp4"] } }, options),
  },
  {
    name: "bills",
    once: false,
    run: ({ money }) =>
      collect(
        money.bills({ query: { cycle: "Month" }, period: JANUARY, zone: timeZone("UTC"), closedBefore: 0, signal }),
      ),
  },
  {
    name: "budgets",
    once: false,
    async run(session, { moneyRead }) {
      session.start();
      await moneyRead;
      const { money } = session;
      return [money.budgets(), money.spend(), money.failures()];
    },
  },
];
