import { type Refusal, refusalsOf } from "./refusal.ts";

const batch = refusalsOf("batch");
const items = (change: object) => ({ items: change });
const oneSource = "items needs exactly one of inline, configMapKeyRef and object: set one, remove the others";
const speech = { model: "speech-2.6-hd" };

export const batchRefusals: readonly Refusal[] = [
  batch(items({ inline: null }), items({ inline: null, configMapKeyRef: { name: "book", key: "items" } }), oneSource),
  batch(
    items({ object: { storeRef: { name: "results" }, key: "items.jsonl" } }),
    items({ inline: null, object: { storeRef: { name: "results" }, key: "items.jsonl" } }),
    oneSource,
  ),
  batch(items({ inline: [] }), items({ inline: [{}] }), "items.inline must have at least one item"),
  batch(
    items({ inline: Array.from({ length: 101 }, () => ({})) }),
    items({ inline: Array.from({ length: 100 }, () => ({})) }),
    "spec.items.inline: Too many: 101: must have at most 100 items",
  ),
  batch(
    { template: { speech: null } },
    { template: { speech: null, video: {} } },
    "template needs exactly one of speech and video: set one, remove the other",
  ),
  batch(
    { template: { speech, video: {} } },
    { template: { speech } },
    "template needs exactly one of speech and video: set one, remove the other",
  ),
  batch({ parallelism: 0 }, { parallelism: 500 }, "spec.parallelism in body should be greater than or equal to 1"),
  batch(
    { maxHaltedIndexes: 2001 },
    { maxHaltedIndexes: 2000 },
    "spec.maxHaltedIndexes in body should be less than or equal to 2000",
  ),
  batch(
    { backoffLimitPerIndex: 11 },
    { backoffLimitPerIndex: 10 },
    "spec.backoffLimitPerIndex in body should be less than or equal to 10",
  ),
  batch(
    { output: { keyPrefix: "../book" } },
    { output: { keyPrefix: "books/one" } },
    "output.keyPrefix must be a relative path without '..'",
  ),
  batch(items({ format: "XML" }), items({ format: "CSV" }), 'spec.items.format: Unsupported value: "XML"'),
];
