import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { anyAddress, publicOnly } from "../../../src/base/address-guard.ts";
import { bytesAt, type FileServer, sha256Of, startFileServer } from "../../../tools/artifacts/file-server.ts";
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

describe("a result is complete or absent", () => {
  const MIB = 1024 * 1024;
  const broken = { bytes: 3 * MIB, etag: '"1"', breakAfter: MIB, breaks: 1 };
  const copied = async (file: Parameters<typeof server.files.set>[1]) => {
    server.files.set("/a", file);
    return (await volumeStore(root)).copy(`${server.url}/a?signature=secret`, key, { lookup: anyAddress, signal });
  };

  it("a source that gives short ranges after a break is asked for the rest", async () => {
    const stored = await copied({ ...broken, longestRange: 100_000 });
    expect(stored).toMatchObject({ bytes: 3 * MIB, sha256: sha256Of(3 * MIB) });
  });

  it("a range with more bytes than it names ends the copy, and the next one starts again", async () => {
    const file = { ...broken, excess: 9 };
    await expect(copied(file)).rejects.toMatchObject({ kind: "SourceChanged", retryable: true });
    expect(server.seen.map(({ range }) => range !== undefined)).toEqual([false, true]);
    expect(await copied({ ...file, breaks: 0 })).toMatchObject({ bytes: 3 * MIB, sha256: sha256Of(3 * MIB) });
    expect(server.seen.at(-1)?.range).toBeUndefined();
  });

  it.each([
    ["a 206 nobody asked for", { range: "bytes 0-9/20" }, { bytes: 20 }],
    ["a range of another file size", { range: "bytes 10-29/30" }, { kind: "SourceChanged" }],
    ["a range beyond the end", { range: "bytes 10-29/20" }, { kind: "SourceChanged" }],
    ["a range that begins earlier", { range: "bytes 5-19/20" }, { kind: "SourceChanged" }],
    ["a range without a total", { range: "bytes 10-19/*" }, { kind: "SourceChanged" }],
    ["no range header", { range: undefined }, { kind: "SourceChanged" }],
  ])("after 10 of 20 bytes, %s", async (_, second, outcome) => {
    const unasked = second.range === "bytes 0-9/20";
    const url = await scripted((request, response) => {
      const asked = request.headers.range !== undefined;
      const range = asked && unasked ? "bytes 10-19/20" : asked || unasked ? second.range : undefined;
      response.writeHead(asked || unasked ? 206 : 200, {
        etag: '"1"',
        "content-length": asked || unasked ? 10 : 20,
        ...(range === undefined ? {} : { "content-range": range }),
      });
      response.write(bytesAt(asked ? 10 : 0, 10), () => (asked || unasked ? response.end() : response.destroy()));
    });
    const copying = (await volumeStore(root)).copy(url, key, { lookup: anyAddress, signal });
    if ("kind" in outcome) await expect(copying).rejects.toMatchObject(outcome);
    else expect(await copying).toMatchObject({ ...outcome, sha256: sha256Of(20) });
  });

  it("no bytes are no result", async () => {
    const error: unknown = await copied({ bytes: 0, etag: '"1"' }).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ kind: "SourceUnreachable", retryable: true });
    expect(String(error)).toMatch(/\/a answers HTTP 200 without any bytes/);
  });

  it.each([204, 202])("HTTP %d is not a result yet", async (status) => {
    await expect(copied({ bytes: 0, status })).rejects.toMatchObject({ kind: "SourceUnreachable" });
  });

  it.each(["gzip", "br"] as const)("a body in %s is stored decoded", async (encoding) => {
    const stored = await copied({ bytes: MIB, etag: '"1"', encoding });
    expect(stored).toMatchObject({ bytes: MIB, sha256: sha256Of(MIB) });
  });

  it("a body in gzip that ends early, or in an unknown coding, is refused", async () => {
    const early = copied({ bytes: MIB, encoding: "gzip", breakAfter: 10_000 });
    await expect(early).rejects.toMatchObject({ kind: "SourceUnreachable" });
    await expect(copied({ bytes: MIB, encoding: "odd" })).rejects.toThrow(/content-encoding "odd"/);
  });

  it("a body in gzip is limited by its decoded size", async () => {
    server.files.set("/a", { bytes: 2 * MIB, encoding: "gzip" });
    const store = await volumeStore(root, { maxBytes: MIB });
    const copying = store.copy(`${server.url}/a`, key, { lookup: anyAddress, signal });
    await expect(copying).rejects.toMatchObject({ kind: "TooLarge" });
  });

  async function scripted(answer: RequestListener): Promise<string> {
    const scriptedServer = createServer(answer);
    await new Promise<void>((resolve) => scriptedServer.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      scriptedServer.closeAllConnections();
      scriptedServer.close();
    });
    return `http://127.0.0.1:${(scriptedServer.address() as AddressInfo).port}/a`;
  }
});

it("nothing is visible after any of that", async () => {
  const names = await readdir(root, { recursive: true, withFileTypes: true });
  expect(names.filter((one) => one.isFile()).map(({ name }) => name)).toEqual(["0.mp4"]);
});
