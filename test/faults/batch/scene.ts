import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { manifest } from "../../support/manifests.ts";
import {
  type AnyObject,
  createWorld,
  eventually,
  type Operator,
  type StartOptions,
  type World,
  type WorldOptions,
} from "../../support/world.ts";
import { LIMIT_MS } from "./size.ts";

/** Batches whose items and results lie in one store. */
export type Scene = {
  world: World;
  start(options?: Pick<StartOptions, "nodeFlags">): Promise<Operator>;
  /** Creates a batch of `count` items. */
  apply(name: string, count: number, spec: Record<string, unknown>): Promise<void>;
  /** Waits for the end of a batch. */
  ended(name: string, look?: (batch: AnyObject) => Promise<void>): Promise<AnyObject>;
  /** How often the service has made the audio of each item. */
  paid(): Promise<Map<string, number>>;
  close(): Promise<void>;
};

/** A line of index.jsonl. */
export type Line = { index: number; key?: string; reusedFrom?: string; error?: string };

/** Texts of items with an odd index contain it. */
export const ODD = "odd";

export const textOf = (index: number) => `item ${String(index).padStart(6, "0")} ${index % 2 === 1 ? ODD : "even"}.`;

export async function createScene(prefix: string, options: WorldOptions = {}): Promise<Scene> {
  const root = await mkdtemp(join(tmpdir(), `mooring-${prefix}-`));
  const world = await createWorld(prefix, options);
  await mkdir(join(root, "results"));
  await world.apply({ kind: "ArtifactStore", metadata: { name: "results" }, spec: { volume: { path: "results" } } });

  return {
    world,
    start: ({ nodeFlags = [] } = {}) =>
      world.startOperator({
        args: [`--artifact-root=${root}`, "--log-level=info"],
        nodeFlags,
        ...(options.kubeconfig === undefined ? {} : { kubeconfig: options.kubeconfig }),
      }),
    async apply(name, count, spec) {
      const lines = Array.from({ length: count }, (_, index) => JSON.stringify({ text: textOf(index) }));
      await writeFile(join(root, "results", `${name}.jsonl`), lines.join("\n"));
      const items = { inline: null, object: { storeRef: { name: "results" }, key: `${name}.jsonl` } };
      await world.apply(manifest("batch", { items, ...spec }, name));
    },
    ended: (name, look = async () => undefined) =>
      eventually(
        `the batch ${name} has ended`,
        async () => {
          const batch = await world.get("MediaBatch", name);
          const { phase } = batch.status ?? {};
          if (phase === "Succeeded" || phase === "Failed") return batch;
          await look(batch);
          return undefined;
        },
        LIMIT_MS,
      ),
    async paid() {
      const counts = new Map<string, number>();
      for (const { effect, body } of await world.audit("synthesizeSpeech")) {
        const text = typeof body?.text === "string" ? body.text : "";
        if (effect !== undefined && text.startsWith("item ")) counts.set(text, (counts.get(text) ?? 0) + 1);
      }
      return counts;
    },
    close: () => rm(root, { recursive: true, force: true }),
  };
}

/** What index.jsonl of a batch that ended lists. */
export async function linesOf({ status }: AnyObject): Promise<Line[]> {
  const { index } = status as unknown as { index: { uri: string } };
  const text = (await readFile(fileURLToPath(index.uri))).toString();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}
