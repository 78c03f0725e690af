import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, readdir } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { AbortMultipartUploadCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createBucket } from "../../../src/artifacts/s3/bucket.ts";
import { uploadsOf } from "../../../src/artifacts/s3/multipart.ts";
import { anyAddress, publicOnly } from "../../../src/base/address-guard.ts";
import { type FileServer, sha256Of, startFileServer } from "../../../tools/artifacts/file-server.ts";
import { s3Store } from "../../../tools/artifacts/stores.ts";
import { type S3Server, startVersitygw } from "../../../tools/artifacts/versitygw.ts";
import { describeStoredObjects } from "../../support/stored-objects.ts";

const MIB = 1024 * 1024;
const signal = new AbortController().signal;
const open = { lookup: anyAddress, signal };

let files: FileServer;
let s3: S3Server;
let client: S3Client;
let count = 0;
let key = "";
const url = () => `${files.url}/a?signature=secret`;

beforeAll(async () => {
  [files, s3] = await Promise.all([startFileServer(), startVersitygw()]);
  await mkdir(join(s3.folder, "results"));
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
});
afterAll(async () => {
  client?.destroy();
  await Promise.all([files?.close(), s3?.stop()]);
});
beforeEach(() => {
  files.files.clear();
  files.seen.length = 0;
  key = `film/VideoJob/sea-${++count}/8d1f/0.mp4`;
});

/** Keys that a reader of the bucket sees. */
async function visible(prefix = key): Promise<string[]> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: "results", Prefix: prefix }));
  return Contents.map(({ Key }) => Key ?? "");
}
/** Uploads that were neither completed nor aborted. */
async function uploads(): Promise<string[]> {
  const bucket = createBucket({
    ...s3,
    region: "us-east-1",
    bucket: "results",
    forcePathStyle: true,
    credentials: s3,
    lookup: anyAddress,
  });
  return uploadsOf(bucket, key, signal);
}
async function sha256InStore(path = key): Promise<string> {
  const { Body } = await client.send(new GetObjectCommand({ Bucket: "results", Key: path }));
  return createHash("sha256")
    .update((await Body?.transformToByteArray()) ?? "")
    .digest("hex");
}
/** A copy that is ended once this many bytes lie in the store. */
async function interrupted(after: number): Promise<void> {
  const ending = new AbortController();
  const store = await s3Store(s3);
  const copied = store.copy(url(), key, {
    lookup: anyAddress,
    signal: ending.signal,
    onProgress: ({ bytes }) => bytes >= after && ending.abort(new Error("stop")),
  });
  await expect(copied).rejects.toMatchObject({ kind: "Aborted" });
  await store.dispose();
}

describeStoredObjects(() => s3Store(s3, { prefix: "records" }), true);

it("an object in parts is known by its content, which the store does not tell", async () => {
  files.files.set("/a", { bytes: 20 * MIB, etag: '"1"' });
  const store = await s3Store(s3);
  const { bytes, sha256 } = await store.copy(url(), key, open);
  expect(await store.holds(key, { bytes, sha256 }, signal)).toBe(true);
  expect(await store.holds(key, { bytes, sha256: sha256Of(7) }, signal)).toBe(false);
});

describe("copy", () => {
  it.each([1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1, 20 * MIB + 7])("%d bytes, whole and verified", async (bytes) => {
    files.files.set("/a", { bytes, etag: '"1"' });
    const stored = await (await s3Store(s3, { prefix: "films/" })).copy(url(), key, open);
    expect(stored).toEqual({ uri: `s3://results/films/${key}`, bytes, sha256: sha256Of(bytes) });
    expect(await sha256InStore(`films/${key}`)).toBe(sha256Of(bytes));
    expect(await uploads()).toEqual([]);
  });

  it("nothing is visible while it runs or after it was interrupted, and the next goes on from the parts already there", async () => {
    const file = { bytes: 40 * MIB, etag: '"1"' };
    files.files.set("/a", { ...file, hangAfter: 30 * MIB });
    await interrupted(16 * MIB);
    expect(await visible()).toEqual([]);
    expect(await uploads()).toHaveLength(1);

    files.files.set("/a", file);
    const before = files.sent();
    const stored = await (await s3Store(s3)).copy(`${files.url}/a?signature=another`, key, open);
    expect(stored).toEqual({ uri: `s3://results/${key}`, bytes: 40 * MIB, sha256: sha256Of(40 * MIB) });
    expect(await sha256InStore()).toBe(sha256Of(40 * MIB));
    expect(files.sent() - before).toBeLessThanOrEqual(24 * MIB);
    expect(await uploads()).toEqual([]);
    expect(await visible()).toEqual([key]);
  });

  it.each([
    ["another file now", { etag: '"2"' }],
    ["no ranges any more", { ranges: false }],
  ])("starts again, and aborts the old upload, where the source has %s", async (_, change) => {
    const file = { bytes: 20 * MIB, etag: '"1"' };
    files.files.set("/a", { ...file, hangAfter: 18 * MIB });
    await interrupted(8 * MIB);
    files.files.set("/a", { ...file, ...change });
    expect(await (await s3Store(s3)).copy(url(), key, open)).toMatchObject({ sha256: sha256Of(20 * MIB) });
    expect(await uploads()).toEqual([]);
  });

  it.each([
    ["short ranges after a break", { longestRange: 1_000 }, 1],
    ["a range with 9 bytes too many after a break", { excess: 9 }, 2],
    ["no bytes at first", { bytes: 0 }, 2],
  ])("a source with %s is stored whole", async (_, fault, copies) => {
    const file = { bytes: 20 * MIB, etag: '"1"' };
    files.files.set("/a", { ...file, breakAfter: 9 * MIB, breaks: 1, ...fault });
    const store = await s3Store(s3);
    if (copies > 1) await expect(store.copy(url(), key, open)).rejects.toMatchObject({ retryable: true });
    expect([...(await visible()), ...(await uploads())]).toEqual([]);
    if (copies > 1) files.files.set("/a", file);
    expect(await store.copy(url(), key, open)).toMatchObject({ bytes: 20 * MIB, sha256: sha256Of(20 * MIB) });
    expect(await sha256InStore()).toBe(sha256Of(20 * MIB));
  });

  it("a complete copy of the same source is found, and only its head is asked for again", async () => {
    files.files.set("/a", { bytes: 20 * MIB, etag: '"1"' });
    const first = await (await s3Store(s3)).copy(url(), key, open);
    files.files.set("/a", { bytes: 20 * MIB, etag: '"1"', hangAfter: 0 });
    expect(await (await s3Store(s3)).copy(url(), key, open)).toEqual(first);
  });

  it("leaves nothing of a source that cannot be taken up, and nothing that is abandoned", async () => {
    files.files.set("/a", { bytes: 20 * MIB, breakAfter: 18 * MIB, breaks: 1 });
    const store = await s3Store(s3);
    await expect(store.copy(url(), key, open)).rejects.toMatchObject({ kind: "SourceUnreachable" });
    expect(await uploads()).toEqual([]);
    files.files.set("/a", { bytes: 20 * MIB, etag: '"1"', hangAfter: 18 * MIB });
    await interrupted(8 * MIB);
    expect(await uploads()).toHaveLength(1);
    await store.abandon(key, signal);
    expect(await uploads()).toEqual([]);
    expect(await visible()).toEqual([]);
  });

  it("an upload that somebody aborts under it fails, and the next copy starts again", async () => {
    const file = { bytes: 40 * MIB, etag: '"1"' };
    files.files.set("/a", file);
    let aborted: Promise<unknown> | undefined;
    const onProgress = () => {
      aborted ??= uploads().then(([UploadId]) =>
        client.send(new AbortMultipartUploadCommand({ Bucket: "results", Key: key, UploadId })),
      );
    };
    const store = await s3Store(s3);
    await expect(store.copy(url(), key, { ...open, onProgress })).rejects.toMatchObject({ kind: "StoreUnreachable" });
    await aborted;
    expect(await store.copy(url(), key, open)).toMatchObject({ sha256: sha256Of(40 * MIB) });
  });
});

describe("writer", () => {
  it.each([100_000, 20 * MIB])("%d bytes in pieces: invisible until the commit, then whole", async (bytes) => {
    const writer = await (await s3Store(s3)).writer(key, { signal });
    const hash = createHash("sha256");
    for (let at = 0; at < bytes; at += 50_000) {
      const chunk = Buffer.alloc(Math.min(50_000, bytes - at), at % 251);
      hash.update(chunk);
      await writer.write(chunk);
    }
    expect(await visible()).toEqual([]);
    const sha256 = hash.digest("hex");
    expect(await writer.commit()).toEqual({ uri: `s3://results/${key}`, bytes, sha256 });
    expect(await sha256InStore()).toBe(sha256);
  });

  it("leaves nothing when it is discarded", async () => {
    const writer = await (await s3Store(s3)).writer(key, { signal });
    await writer.write(Buffer.alloc(20 * MIB));
    expect(await uploads()).toHaveLength(1);
    await writer.discard();
    expect(await uploads()).toEqual([]);
    expect(await visible()).toEqual([]);
  });
});

describe("a store that gives back something else", () => {
  let proxy: Server;
  let endpoint: string;
  let tamper: (method: string, path: string, body: Buffer) => Buffer = (_, __, body) => body;
  let alter: (method: string, headers: Record<string, unknown>) => void = () => {};

  beforeAll(async () => {
    proxy = createServer(async (incoming, outgoing) => {
      const { method = "GET", url: path = "/", headers } = incoming;
      if (headers.expect !== undefined) outgoing.writeContinue();
      const sent = tamper(method, path, await buffer(incoming));
      const { expect: _, ...rest } = headers;
      const forwarded = request(`${s3.endpoint}${path}`, { method, headers: rest });
      forwarded.end(sent);
      const [answer] = (await once(forwarded, "response")) as [IncomingMessage];
      alter(method, answer.headers);
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      outgoing.end(await buffer(answer));
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    endpoint = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  afterAll(() => void proxy?.close());
  beforeEach(() => {
    tamper = (_, __, body) => body;
    alter = () => {};
  });
  // The proxy listens elsewhere, but what is signed is the host of the real one.
  const through = async () => s3Store({ ...s3, endpoint });
  const flip = (body: Buffer) => {
    const copy = Buffer.from(body);
    if (copy.length > 100) copy.writeUInt8(copy.readUInt8(100) ^ 1, 100);
    return copy;
  };

  it.each([
    ["one piece", 1 * MIB],
    ["parts", 20 * MIB],
  ])("bytes changed on the way, in %s: the store refuses them and nothing is visible", async (_, bytes) => {
    tamper = (method, __, body) => (method === "PUT" && body.length >= MIB ? flip(body) : body);
    files.files.set("/a", { bytes, etag: '"1"' });
    await expect((await through()).copy(url(), key, open)).rejects.toMatchObject({ kind: "Corrupt" });
    expect(await visible()).toEqual([]);
  });

  it("another checksum in the store: the object is removed again", async () => {
    alter = (method, headers) => {
      if (method === "HEAD" && "x-amz-checksum-sha256" in headers) {
        headers["x-amz-checksum-sha256"] = createHash("sha256").update("other").digest("base64");
      }
    };
    files.files.set("/a", { bytes: MIB, etag: '"1"' });
    await expect((await through()).copy(url(), key, open)).rejects.toMatchObject({ kind: "Corrupt" });
    expect(await visible()).toEqual([]);
  });

  it("no checksum in the store: the object is read back", async () => {
    let read = 0;
    alter = (method, headers) => {
      delete headers["x-amz-checksum-sha256"];
      if (method === "GET") read++;
    };
    files.files.set("/a", { bytes: 2 * MIB });
    const stored = await (await through()).copy(url(), key, open);
    expect(stored.sha256).toBe(sha256Of(2 * MIB));
    expect(read).toBeGreaterThan(0);
  });
});

describe("probe", () => {
  it("passes, and leaves nothing", async () => {
    await (await s3Store(s3, { prefix: "probed" })).probe(signal);
    expect(await visible("probed")).toEqual([]);
  });

  it.each([
    ["a wrong secret", { secretAccessKey: "wrong-secret" }, {}, "Denied", /SignatureDoesNotMatch/],
    ["a wrong access key", { accessKeyId: "nobody" }, {}, "Denied", /correct AWS_ACCESS_KEY_ID/],
    [
      "a bucket that is missing",
      {},
      { bucket: "nowhere" },
      "NotFound",
      /s3:\/\/nowhere\/.*create it, or correct spec\.s3\.bucket/,
    ],
    ["nobody listening", { endpoint: "http://127.0.0.1:9" }, {}, "StoreUnreachable", /ECONNREFUSED/],
  ])("%s", async (_, server, options, kind, message) => {
    const probed = (await s3Store({ ...s3, ...server }, options)).probe(signal);
    const error: unknown = await probed.catch((failure: unknown) => failure);
    expect(String(error)).toMatch(message);
    expect(error).toMatchObject({ name: "ArtifactError", kind });
    expect(String(error)).not.toContain("secret");
  });

  const lookup = publicOnly("an ArtifactStore may use public addresses only");
  it.each(["127.0.0.1", "localhost", "[::1]", "169.254.169.254"])("an endpoint at %s under the guard", async (host) => {
    const endpoint = s3.endpoint.replace("127.0.0.1", host);
    const probed = (await s3Store({ ...s3, endpoint }, { lookup })).probe(signal);
    await expect(probed).rejects.toMatchObject({ kind: "AddressRefused" });
  });
});

it("what was stored for one prefix is where its key says", async () => {
  expect(await readdir(join(s3.folder, "results/films/film/VideoJob"))).not.toEqual([]);
});
