import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSharedPools, DEFAULT_LIMITS, openStore } from "../../../src/artifacts/handle.ts";
import type { S3Options } from "../../../src/artifacts/s3/bucket.ts";
import { publicOnly } from "../../../src/base/address-guard.ts";
import { systemClock } from "../../../src/base/clock.ts";

type Reply = { status: number; body: string };

/** A server that replies the same to every request. Its URL. */
async function serverOf({ status, body }: Reply): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The error of a probe of the store at an endpoint. */
async function probeError(endpoint: string, change: Partial<S3Options> = {}): Promise<Error & { kind: string }> {
  const s3: S3Options = {
    endpoint,
    region: "us-east-1",
    bucket: "results",
    forcePathStyle: true,
    credentials: { accessKeyId: "id", secretAccessKey: "secret" },
    lookup: undefined,
    ...change,
  };
  const limits = { clock: systemClock, limits: () => DEFAULT_LIMITS, group: "team", ...createSharedPools() };
  const store = await openStore({ kind: "s3", s3 }, limits);
  onTestFinished(() => store.dispose());
  return store.probe(new AbortController().signal).then(
    () => Promise.reject(new Error("the probe passed")),
    (error) => error,
  );
}

const xml = (code: string, message: string): Reply => ({
  status: 403,
  body: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`,
});

describe("the message of a store quotes nothing of its response", () => {
  it.each([
    ["a known code", xml("AccessDenied", "role/payments of 10.1.2.3"), /AccessDenied \(HTTP 403\): allow s3:PutObject/],
    ["a code of its own", xml("role-payments", "role/payments of 10.1.2.3"), /: HTTP 403$/],
    ["a code that is a property of every object", xml("constructor", "role/payments"), /: HTTP 403$/],
    ["JSON of another service", { status: 403, body: '{"role":"role/payments"}' }, /: HTTP 403$/],
    ["200 with another service's page", { status: 200, body: "<html>role/payments" }, /: .+$/],
  ] as const)("%s", async (_name, reply, message) => {
    const error = await probeError(await serverOf(reply));
    expect(error.message).toMatch(message);
    expect(error.message).not.toMatch(/payments|10\.1\.2\.3/);
  });
});

describe("the message of a store does not tell what a name resolves to", () => {
  const lookup = publicOnly("an ArtifactStore may use public addresses only");

  it("when the address is refused", async () => {
    const error = await probeError("http://localhost:1", { lookup });
    expect(error).toMatchObject({
      kind: "AddressRefused",
      message: "localhost resolves to an address that is not public: an ArtifactStore may use public addresses only",
    });
  });

  it("when nobody listens", async () => {
    const error = await probeError("http://localhost:1");
    expect(error.message).toContain("connect ECONNREFUSED");
    expect(error.message).not.toMatch(/127\.0\.0\.1|::1/);
  });
});
