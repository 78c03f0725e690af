import { expect, it } from "vitest";
import { type MediaBatch, mediaBatchSpecSchema } from "../../../../src/api/v1alpha1/media-batch.ts";
import { writeIndex } from "../../../../src/controllers/batch/results.ts";
import { manifest } from "../../../support/manifests.ts";
import { storedMeta } from "../../../support/stored-meta.ts";
import { storeOf } from "./batch-world.ts";

it("index.jsonl has each line once, in the order of the items, also of more items than are sorted at a time", async () => {
  const total = 10_002;
  const metadata = storedMeta({ namespace: "team", name: "book" });
  const batch: MediaBatch = {
    apiVersion: "mooring.dev/v1alpha1",
    kind: "MediaBatch",
    metadata,
    spec: mediaBatchSpecSchema.parse(manifest("batch").spec),
    status: { conditions: [], total, parts: 0 },
  };
  const lines = Array.from({ length: total }, (_, index) => JSON.stringify({ index, name: `item-${index}` }));
  const part = `.mooring/batches/${metadata.uid}/0.jsonl`;
  const files = new Map([[part, `${lines.toReversed().join("\n")}\n`]]);
  await writeIndex(storeOf(files), batch, () => true, new AbortController().signal);
  expect(files.get("book/index.jsonl")).toBe(`${lines.join("\n")}\n`);
});
