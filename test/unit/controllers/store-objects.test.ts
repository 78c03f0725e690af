import { expect, it } from "vitest";
import { createStoreRegistry } from "../../../src/controllers/artifact-store/registry.ts";
import { createValueReader } from "../../../src/controllers/references.ts";
import type { KubeClient } from "../../../src/kube/client.ts";
import { storeOf } from "./batch/batch-world.ts";

const { signal } = new AbortController();
const kube = {} as KubeClient;
const chapter = { storeRef: { name: "texts" }, key: "book/one.txt" };

function readerOf(files: Record<string, string>, exists = true) {
  const stores = createStoreRegistry(() => exists);
  stores.set("team/texts", { state: { kind: "Ready" }, handle: storeOf(new Map(Object.entries(files))) });
  return createValueReader(kube, signal, { stores });
}

it("a text is read from an object of a store in the namespace of the job", async () => {
  expect(await readerOf({ "book/one.txt": "Ahöy." }).storeObject("team", chapter)).toBe("Ahöy.");
});

it.each([
  ["an object that does not exist", readerOf({}), "team", "ObjectNotFound", "book/one.txt of ArtifactStore team/texts"],
  [
    "a store that does not exist",
    readerOf({}, false),
    "team",
    "StoreNotReady",
    "ArtifactStore team/texts does not exist",
  ],
  [
    "a text of more than 4 MiB",
    readerOf({ "book/one.txt": "x".repeat(2 ** 22 + 1) }),
    "team",
    "InvalidSpec",
    "4194304",
  ],
  ["a command line", createValueReader(kube, signal), "team", "ReadForbidden", "only the operator reads"],
])("the job shows why nothing is sent: %s", async (_, reader, namespace, reason, message) => {
  await expect(reader.storeObject(namespace, chapter)).rejects.toMatchObject({
    reason,
    message: expect.stringContaining(message),
  });
});
