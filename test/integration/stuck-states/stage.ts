import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Reason } from "../../../src/api/v1alpha1/reasons.ts";
import type { AssumptionsInput } from "../../../src/simulator/assumptions.ts";
import { createSimulator } from "../../../src/simulator/server.ts";
import { type S3Server, startVersitygw } from "../../../tools/artifacts/versitygw.ts";
import { type AnyObject, API_KEY, createWorld, type World } from "../../support/world.ts";

/** A simulator with an Account of its own. */
export type Service = { url: string; control(path: string, body: unknown): Promise<void> };

export type ServiceOptions = {
  service?: AssumptionsInput;
  /** Merged into the spec of the Account. */
  spec?: Record<string, unknown>;
  /** What the page shows instead of its address. */
  shownAs?: string;
};

/** Where the scenes play: one namespace, one operator, and a simulator for each Account. */
export type Stage = {
  world: World;
  /** A namespace whose operator may use neither private addresses nor a volume. */
  guarded: World;
  artifactRoot: string;
  s3: S3Server;
  /** A service without an Account. */
  service(shownAs: string, config?: AssumptionsInput): Promise<Service>;
  /** A service, and an Account of this name for it. */
  account(name: string, options?: ServiceOptions): Promise<Service>;
  /** Texts that the page shows as others: addresses. */
  replaced: Map<string, string>;
  /** Runs when the stage closes. */
  onClose(step: () => Promise<unknown>): void;
  close(): Promise<void>;
};

/** An object in a state that needs a user, and how it leaves the state. */
export type Scene = {
  reason: Reason;
  /** Distinguishes two scenes of a reason in their headings, such as "of a BillReport". */
  of?: string;
  kind: string;
  name: string;
  /** The condition with the reason. Default: Stalled. */
  condition?: string;
  /** A part of the message, of a state whose message changes. */
  says?: string;
  /** When this happens, in sentences for the page. */
  when: string;
  /** Brings the object into the state. */
  arrange(stage: Stage): Promise<unknown>;
  /** What the user does first elsewhere, such as at the service; for the page. */
  advice?: string;
  /** Commands of the page, with `-n team-a`. `explained`: the command of `mooring explain` that contains this text. */
  commands: readonly string[] | { explained: string };
  world?: "guarded";
};

export async function createStage(): Promise<Stage> {
  const closing: (() => Promise<unknown>)[] = [];
  const onClose: Stage["onClose"] = (step) => void closing.push(step);
  const close = async () => {
    for (const step of closing.reverse()) await step();
  };
  const worldOf = async (prefix: string) => {
    const world = await createWorld(prefix, { account: { endpoints: { syncInterval: "1s" } } });
    onClose(() => world.close());
    return world;
  };
  const artifactRoot = await mkdtemp(join(tmpdir(), "mooring-stuck-"));
  onClose(() => rm(artifactRoot, { recursive: true, force: true }));
  const s3 = await startVersitygw();
  onClose(() => s3.stop());
  await mkdir(join(s3.folder, "results"));
  const [world, guarded] = await Promise.all([worldOf("stuck"), worldOf("guarded")]);
  const replaced = new Map([
    [world.simulator.url, "https://api.example.com"],
    [guarded.simulator.url, "http://192.168.1.10:8080"],
    [s3.endpoint, "https://s3.example.com"],
  ]);

  let seed = 100;

  async function service(shownAs: string, config: AssumptionsInput = {}): Promise<Service> {
    // Two services never give the same IDs.
    seed += 1;
    const { url, close: end } = await createSimulator({
      seed,
      config: { bootDelayMs: 0, timeScale: 0.1, apiKeys: [API_KEY], ...config },
    });
    onClose(end);
    replaced.set(url, shownAs);
    return {
      url,
      async control(path, body) {
        const headers = { "content-type": "application/json" };
        const answer = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
        if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
      },
    };
  }

  const stage: Stage = {
    world,
    guarded,
    artifactRoot,
    s3,
    service,
    async account(name, { service: config, spec = {}, shownAs = "https://api.example.com" } = {}) {
      const remote = await service(shownAs, config);
      await world.apply({
        kind: "Account",
        metadata: { name },
        spec: {
          baseURL: remote.url,
          apiKeySecretRef: { name: "key", key: "apiKey" },
          rateLimit: { requestsPerSecond: 2000, burst: 2000 },
          endpoints: { syncInterval: "1s" },
          ...spec,
        },
      });
      return remote;
    },
    replaced,
    onClose,
    close,
  };
  await world.startOperator({ args: [`--artifact-root=${artifactRoot}`] });
  await guarded.startOperator({ args: ["--allow-private-networks=false"] });
  return stage;
}

/** The `accountRef` of an Account. */
export const of = (name: string) => ({ accountRef: { kind: "Account", name } });

export const secret = (name: string, stringData: Record<string, string>) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  stringData,
});

/** The ID of the remote endpoint of an object. */
export const endpointIDOf = ({ status }: AnyObject): string => String(status?.["endpointID"]);

/** The command that requests a reconcile. */
export const reconcileNow = (object: string): string =>
  `kubectl annotate ${object} -n team-a mooring.dev/reconcile-requested-at="$(date +%s)" --overwrite`;
