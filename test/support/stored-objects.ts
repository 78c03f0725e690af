import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { ArtifactStoreHandle, ByteRange } from "../../src/artifacts/types.ts";

const { signal } = new AbortController();
const contentOf = (text: string) => ({ bytes: text.length, sha256: createHash("sha256").update(text).digest("hex") });

/** What a store does with small objects, such as the records of requests. */
export function describeStoredObjects(openStore: () => Promise<ArtifactStoreHandle>, hasURLs: boolean): void {
  let count = 0;
  const scene = async () => ({ store: await openStore(), key: `.mooring/requests/${++count}` });

  async function read(store: ArtifactStoreHandle, key: string, wanted: Partial<ByteRange & { version: string }> = {}) {
    const opened = await store.read(key, { start: 0, end: undefined, ...wanted }, signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of opened?.chunks ?? []) chunks.push(chunk);
    await opened?.close();
    return opened && { text: Buffer.concat(chunks).toString(), version: opened.version };
  }

  async function write(store: ArtifactStoreHandle, key: string, text: string): Promise<void> {
    const writer = await store.writer(key, { signal, maxBytes: 1_000 });
    await writer.write(Buffer.from(text));
    await writer.commit();
  }

  describe("small objects", () => {
    it("are created once: of two writers, one is told that there is one", async () => {
      const { store, key } = await scene();
      const created = await Promise.all(["one", "two"].map((text) => store.create(key, text, signal)));
      expect(created.filter((isNew) => isNew)).toHaveLength(1);
      expect(["one", "two"]).toContain((await read(store, key))?.text);
      expect(await store.create(key, "three", signal)).toBe(false);
    });

    it("are read as a whole, in parts, and not after their end", async () => {
      const { store, key } = await scene();
      await store.create(key, "0123456789", signal);
      expect((await read(store, key))?.text).toBe("0123456789");
      expect((await read(store, key, { start: 4, end: 6 }))?.text).toBe("45");
      expect((await read(store, key, { start: 8 }))?.text).toBe("89");
      expect(await read(store, key, { start: 10 })).toBeUndefined();
    });

    it("that are replaced have another version, and are not read as the earlier one", async () => {
      const { store, key } = await scene();
      await store.create(key, "one", signal);
      const version = (await read(store, key))?.version ?? "";
      expect((await read(store, key, { version }))?.text).toBe("one");
      await write(store, key, "another");
      await expect(read(store, key, { version })).rejects.toMatchObject({ kind: "SourceChanged" });
      expect((await read(store, key))?.text).toBe("another");
    });

    it("are known by their content", async () => {
      const { store, key } = await scene();
      expect(await store.holds(key, contentOf("one"), signal)).toBe(false);
      await store.create(key, "one", signal);
      expect(await store.holds(key, contentOf("one"), signal)).toBe(true);
      expect(await store.holds(key, contentOf("two"), signal)).toBe(false);
      await write(store, key, "two");
      expect(await store.holds(key, contentOf("two"), signal)).toBe(true);
    });

    it("have a URL for readers without credentials, unless the store is a volume", async () => {
      const { store, key } = await scene();
      const spaced = `${key} (1)+ü`;
      await store.create(spaced, "one", signal);
      const link = await store.link(spaced, signal);
      if (!hasURLs) return expect(link).toBeUndefined();
      const [url, again] = [await link?.url(), await (await store.link(spaced, signal))?.url()];
      expect(await (await fetch(url ?? "")).text()).toBe("one");
      expect((await fetch((url ?? "").split("?")[0] ?? "")).status).toBe(403);
      expect(new URL(again ?? "").searchParams.get("X-Amz-Expires")).toBe("86400");
      expect((await store.link(spaced, signal))?.version).toBe(link?.version);
      await write(store, spaced, "another");
      expect((await store.link(spaced, signal))?.version).not.toBe(link?.version);
      await expect(store.link("nowhere", signal)).rejects.toMatchObject({ kind: "NotFound" });
    });

    it("are removed, and others stay", async () => {
      const { store, key } = await scene();
      for (const one of [`${key}/a`, `${key}/b`]) await store.create(one, "one", signal);
      await store.remove(`${key}/a`, signal);
      await expect(read(store, `${key}/a`)).rejects.toMatchObject({ kind: "NotFound" });
      expect((await read(store, `${key}/b`))?.text).toBe("one");
      for (const again of [`${key}/a`, `${key}/b`, `${key}/b`]) await store.remove(again, signal);
      await store.create(`${key}/b`, "two", signal);
      expect((await read(store, `${key}/b`))?.text).toBe("two");
    });

    it("that do not exist are not read", async () => {
      const { store, key } = await scene();
      await expect(read(store, key)).rejects.toMatchObject({ kind: "NotFound" });
    });
  });
}
