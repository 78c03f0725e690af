import { rm } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { createKubeClient } from "../../../src/kube/client.ts";
import { loadCredentials } from "../../../src/kube/credentials.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { authorityOfFile, kubeconfigIn, temporaryFolder, tlsApi } from "../../support/tls-api-server.ts";

const things: Resource = { group: "example.com", version: "v1", plural: "things", kind: "Thing", namespaced: true };
const place = { namespace: "team", name: "a" };
const authority = await authorityOfFile();

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** An OpenID Connect issuer that gives a new ID token, good for an hour, for each refresh token. */
async function issuer() {
  const refreshes: (string | null)[] = [];
  let url = "";
  const now = () => Math.floor(Date.now() / 1000);
  const idToken = (name: string, expiresAt = now() + 3600) =>
    [
      base64url({ alg: "RS256" }),
      base64url({ iss: url, aud: "mooring", sub: name, iat: now(), exp: expiresAt }),
      "c2ln",
    ].join(".");
  const own = await authority.issue("issuer", ["IP:127.0.0.1"]);
  const server: Server = createServer(own, async (request, response) => {
    const say = (body: object) => response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    if (request.url === "/.well-known/openid-configuration") {
      return say({ issuer: url, token_endpoint: `${url}/token` });
    }
    let form = "";
    for await (const chunk of request) form += chunk;
    refreshes.push(new URLSearchParams(form).get("refresh_token"));
    const n = refreshes.length;
    const tokens = { id_token: idToken(`refreshed-${n}`), refresh_token: `refresh-${n + 1}` };
    say({ access_token: "unused", token_type: "bearer", expires_in: 3600, ...tokens });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, refreshes, idToken, expired: () => idToken("old", now() - 60) };
}

/** Who an ID token names. */
function subjectOf(authorization: string | undefined): string | undefined {
  const payload = authorization?.replace(/^Bearer /, "").split(".")[1];
  return payload === undefined ? undefined : JSON.parse(Buffer.from(payload, "base64url").toString()).sub;
}

async function connect(config: object) {
  const folder = await temporaryFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const api = await tlsApi(authority);
  const clock = createFakeClock();
  const kubeconfig = await kubeconfigIn(
    folder,
    { server: api.url, "certificate-authority-data": Buffer.from(authority.cert).toString("base64") },
    { "auth-provider": { name: "oidc", config } },
  );
  const client = createKubeClient(await loadCredentials({ kubeconfig, clock }));
  onTestFinished(() => client.close());
  return { api, clock, client };
}

function trustTheIssuer(): void {
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, authority.cert]);
  onTestFinished(() => setDefaultCACertificates(before));
}

describe("a kubeconfig's OpenID Connect user", () => {
  it("is sent with its ID token while that is valid", async () => {
    const { url, refreshes, idToken } = await issuer();
    const { api, client } = await connect({
      "idp-issuer-url": url,
      "client-id": "mooring",
      "refresh-token": "refresh-1",
      "id-token": idToken("first"),
    });
    await client.get(things, place);
    expect(api.requests.map(({ authorization }) => subjectOf(authorization))).toEqual(["first"]);
    expect(refreshes).toEqual([]);
  });

  it("is refreshed once when its ID token has expired, not at each reading", async () => {
    trustTheIssuer();
    const { url, refreshes, expired } = await issuer();
    const { api, clock, client } = await connect({
      "idp-issuer-url": url,
      "client-id": "mooring",
      "refresh-token": "refresh-1",
      "id-token": expired(),
      // Not used: Node trusts the issuer.
      "idp-certificate-authority-data": Buffer.from(authority.cert).toString("base64"),
    });
    for (let i = 0; i < 3; i++) {
      await client.get(things, place);
      await clock.advance(10_000);
    }
    expect(api.requests.map(({ authorization }) => subjectOf(authorization))).toEqual(Array(3).fill("refreshed-1"));
    expect(refreshes).toEqual(["refresh-1"]);
  });

  it.each<{ name: string; change: object; expected: RegExp }>([
    {
      name: "without a refresh token",
      change: { "refresh-token": "" },
      expected: /^kubeconfig .*: user "u": the id-token has expired, /,
    },
    { name: "whose issuer is not trusted", change: {}, expected: /^kubeconfig .*: [^\n]*$/ },
  ])("$name and with an expired ID token is refused in one line", async ({ change, expected }) => {
    const { url, expired } = await issuer();
    const config = { "idp-issuer-url": url, "client-id": "mooring", "refresh-token": "r", "id-token": expired() };
    await expect(connect({ ...config, ...change })).rejects.toThrow(expected);
  });
});
