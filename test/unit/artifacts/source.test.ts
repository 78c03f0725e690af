import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anyAddress, publicOnly } from "../../../src/net/address-guard.ts";
import { type FileServer, startFileServer } from "../../../tools/artifacts/file-server.ts";
import { volumeStore } from "../../../tools/artifacts/stores.ts";

const key = "film/VideoJob/sea/8d1f/0.mp4";
const signal = new AbortController().signal;
let server: FileServer;
let root: string;

beforeAll(async () => {
  server = await startFileServer();
  root = await mkdtemp(join(tmpdir(), "mooring-source-"));
});
afterAll(async () => {
  await server.close();
  await rm(root, { recursive: true });
});
beforeEach(() => {
  server.files.clear();
  server.seen.length = 0;
});

describe("addresses: with the guard of namespaced accounts", () => {
  const refused = [
    "http://127.0.0.1:PORT/a",
    "http://127.1:PORT/a",
    "http://2130706433:PORT/a",
    "http://0x7f.0.0.1:PORT/a",
    "http://0177.0.0.1:PORT/a",
    "http://localhost:PORT/a",
    "http://0.0.0.0:PORT/a",
    "http://[::1]:PORT/a",
    "http://[::]:PORT/a",
    "http://[::ffff:127.0.0.1]:PORT/a",
    "http://[::ffff:7f00:1]:PORT/a",
    "http://[64:ff9b::7f00:1]:PORT/a",
    "http://[fe80::1]/a",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://10.0.0.1/a",
    "http://172.16.0.1/a",
    "http://192.168.1.1/a",
    "http://100.64.0.1/a",
    "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
    "https://169.254.169.254/latest/meta-data/",
  ];
  it.each(refused)("%s is not connected to", async (template) => {
    server.files.set("/a", { bytes: 10 });
    const url = template.replace("PORT", new URL(server.url).port);
    const copied = (await volumeStore(root)).copy(url, key, { lookup: publicOnly("public addresses only"), signal });
    await expect(copied).rejects.toMatchObject({ kind: "AddressRefused", retryable: false });
    expect(server.seen).toEqual([]);
  });

  it("a name that resolves to a private address is not connected to, whatever else it resolves to", async () => {
    server.files.set("/a", { bytes: 10 });
    const url = server.url.replace("127.0.0.1", "localhost");
    const copied = (await volumeStore(root)).copy(`${url}/a`, key, {
      lookup: publicOnly("public addresses only"),
      signal,
    });
    const error = String(await copied.catch((failure: unknown) => failure));
    expect(error).toMatch(/localhost resolves to an address that is not public/);
    expect(error).not.toMatch(/127\.0\.0\.1|::1/);
    expect(server.seen).toEqual([]);
  });

  it.each([
    "http://169.254.169.254/x",
    "http://127.0.0.2:1/x",
    "http://[::1]:1/x",
    "//10.0.0.1/x",
    "http://[::ffff:10.0.0.1]/x",
    "http://[fec0::1]/x",
    "http://[::10.0.0.1]/x",
    "http://0xa9fea9fe/latest/meta-data/",
    "http://168.63.129.16/metadata",
  ])("a redirect to %s is judged like the first address", async (redirect) => {
    server.files.set("/a", { bytes: 0, redirect });
    const lookup = publicOnly("only the first server is allowed", ["127.0.0.1/32"]);
    const copied = (await volumeStore(root)).copy(`${server.url}/a`, key, { lookup, signal });
    await expect(copied).rejects.toMatchObject({ kind: "AddressRefused" });
    expect(server.seen).toHaveLength(1);
  });
});

it.each(["file:///etc/passwd", "ftp://example.com/a", "data:text/plain,x", "http://user:pw@127.0.0.1/a"])(
  "%s is refused",
  async (url) => {
    const copied = (await volumeStore(root)).copy(url, key, { lookup: anyAddress, signal });
    const error: unknown = await copied.catch((failure: unknown) => failure);
    expect(error).toMatchObject({ kind: "AddressRefused" });
    expect(String(error)).not.toContain("pw@");
  },
);

it("a redirect to another scheme is refused; five redirects are followed, six are not", async () => {
  server.files.set("/file", { bytes: 0, redirect: "file:///etc/passwd" });
  const store = await volumeStore(root);
  const copy = (path: string) => store.copy(`${server.url}${path}`, key, { lookup: anyAddress, signal });
  await expect(copy("/file")).rejects.toMatchObject({ kind: "AddressRefused" });
  for (let hop = 0; hop < 6; hop++) server.files.set(`/${hop}`, { bytes: 0, redirect: `/${hop + 1}` });
  server.files.set("/6", { bytes: 10 });
  expect(await copy("/1")).toMatchObject({ bytes: 10 });
  await expect(copy("/0")).rejects.toThrow(/redirects more than 5 times/);
});

it("a refused connection in an allowed private network does not tell what a name resolves to", async () => {
  const { port } = new URL(server.url);
  const closed = await startFileServer();
  await closed.close();
  const url = `http://localhost:${new URL(closed.url).port}/a`;
  expect(port).not.toBe(new URL(closed.url).port);
  const store = await volumeStore(root);
  const error = await store.copy(url, key, { lookup: anyAddress, signal }).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ kind: "SourceUnreachable" });
  expect(String(error)).toContain("connect ECONNREFUSED");
  expect(String(error)).not.toMatch(/127\.0\.0\.1|::1/);
});

describe("caps", () => {
  it.each([
    ["that tells its size", { bytes: 2_000_000 }],
    ["that does not", { bytes: 2_000_000, chunked: true }],
  ])("a source over the size %s", async (_, file) => {
    server.files.set("/a", file);
    const store = await volumeStore(root, { maxBytes: 1_000_000 });
    const copied = store.copy(`${server.url}/a?signature=secret`, key, { lookup: anyAddress, signal });
    const error: unknown = await copied.catch((failure: unknown) => failure);
    expect(error).toMatchObject({ kind: "TooLarge", retryable: false });
    expect(String(error)).not.toContain("secret");
  });

  it("a source that falls silent", async () => {
    server.files.set("/a", { bytes: 2_000_000, hangAfter: 100_000 });
    const store = await volumeStore(root, { idleMs: 300 });
    const copied = store.copy(`${server.url}/a`, key, { lookup: anyAddress, signal });
    await expect(copied).rejects.toThrow(/gave nothing for 0.3 s/);
  });

  it("a source that takes for ever", async () => {
    server.files.set("/a", { bytes: 2_000_000, hangAfter: 100_000 });
    const store = await volumeStore(root, { maxMs: 300 });
    const copied = store.copy(`${server.url}/a`, key, { lookup: anyAddress, signal });
    await expect(copied).rejects.toMatchObject({ kind: "TooSlow", message: "the copy took longer than 0.3 s" });
  });
});

it.each([
  [404, "SourceGone", false],
  [403, "SourceGone", false],
  [410, "SourceGone", false],
  [429, "SourceUnreachable", true],
  [500, "SourceUnreachable", true],
  [503, "SourceUnreachable", true],
])("HTTP %d is %s", async (status, kind, retryable) => {
  server.files.set("/a", { bytes: 10, status });
  const copied = (await volumeStore(root)).copy(`${server.url}/a?signature=secret`, key, {
    lookup: anyAddress,
    signal,
  });
  const error: unknown = await copied.catch((failure: unknown) => failure);
  expect(error).toMatchObject({ kind, retryable });
  expect(String(error)).toContain(`HTTP ${status}`);
  expect(String(error)).not.toContain("secret");
});

it("nothing is visible after any of that", async () => {
  const names = await readdir(root, { recursive: true, withFileTypes: true });
  expect(names.filter((one) => one.isFile()).map(({ name }) => name)).toEqual(["0.mp4"]);
});
