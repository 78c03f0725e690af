import { readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createKubeClient, type KubeClient } from "../../../src/kube/client.ts";
import { type CredentialsOptions, loadCredentials } from "../../../src/kube/credentials.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import { createFakeClock, until } from "../../support/fake-clock.ts";
import {
  authorityOfFile,
  connectProxy,
  kubeconfigIn,
  type TlsApi,
  type TlsRequest,
  temporaryFolder,
  tlsApi,
} from "../../support/tls-api-server.ts";

const things: Resource = { group: "example.com", version: "v1", plural: "things", kind: "Thing", namespaced: true };
const place = { namespace: "team", name: "a" };
const authority = await authorityOfFile();
const caData = Buffer.from(authority.cert).toString("base64");

type Setup = {
  folder: string;
  api: TlsApi;
  clock: ReturnType<typeof createFakeClock>;
  problems: string[];
  /** A client for a user of the kubeconfig, over TLS, with the clock above. */
  connect(user: object, cluster?: object, options?: CredentialsOptions): Promise<KubeClient>;
};

async function setup(answer?: (request: TlsRequest) => number): Promise<Setup> {
  const folder = await temporaryFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const api = await tlsApi(authority, answer);
  const clock = createFakeClock();
  const problems: string[] = [];
  return {
    folder,
    api,
    clock,
    problems,
    async connect(user, cluster = {}, options = {}) {
      const kubeconfig = await kubeconfigIn(
        folder,
        { server: api.url, "certificate-authority-data": caData, ...cluster },
        user,
      );
      const onProblem = (problem: string) => void problems.push(problem);
      const client = createKubeClient(await loadCredentials({ kubeconfig, clock, onProblem, ...options }));
      onTestFinished(() => client.close());
      return client;
    },
  };
}

const bearers = ({ requests }: TlsApi) => requests.map(({ authorization }) => authorization);

describe("a token file", () => {
  it("is read again within 10 s of being rewritten", async () => {
    const { folder, api, clock, connect } = await setup();
    const token = join(folder, "token");
    await writeFile(token, "first\n");
    const client = await connect({ tokenFile: token });
    await client.get(things, place);
    await writeFile(token, "second\n");
    await client.get(things, place);
    await clock.advance(10_000);
    await client.get(things, place);
    expect(bearers(api)).toEqual(["Bearer first", "Bearer first", "Bearer second"]);
  });

  it("is sent over connections that stay", async () => {
    const { api, connect } = await setup();
    const client = await connect({ token: "t" });
    for (let i = 0; i < 20; i++) await client.get(things, place);
    expect(new Set(api.requests.map(({ connection }) => connection)).size).toBeLessThanOrEqual(2);
  });

  it("is read at once after a 401, and the request is repeated once, its body too", async () => {
    const { folder, api, connect } = await setup(({ authorization }) => (authorization === "Bearer new" ? 200 : 401));
    const token = join(folder, "token");
    await writeFile(token, "old");
    const client = await connect({ tokenFile: token });
    await writeFile(token, "new");
    await client.update(things, place, { metadata: { name: "a" }, spec: {} });
    expect(bearers(api)).toEqual(["Bearer old", "Bearer new"]);
    expect(api.requests[1]?.headers["content-length"]).toBe(api.requests[0]?.headers["content-length"]);
  });

  it("that is still refused is the caller's to know, after one repetition", async () => {
    const { folder, api, connect } = await setup(() => 401);
    const token = join(folder, "token");
    await writeFile(token, "old");
    const client = await connect({ tokenFile: token });
    await expect(client.get(things, place)).rejects.toMatchObject({ status: 401 });
    expect(bearers(api)).toEqual(["Bearer old"]); // nothing new: nothing repeated
    await writeFile(token, "new");
    await expect(client.get(things, place)).rejects.toMatchObject({ status: 401 });
    // Twice within a second would read no file again.
    expect(api.requests.length).toBeLessThanOrEqual(3);
  });

  it("that is missing or empty for a moment leaves the last token in use, and is logged", async () => {
    const { folder, api, clock, problems, connect } = await setup();
    const token = join(folder, "token");
    await writeFile(token, "kept");
    const client = await connect({ tokenFile: token });
    await rm(token);
    await clock.advance(10_000);
    await client.get(things, place);
    await writeFile(token, " \n");
    await clock.advance(10_000);
    await client.get(things, place);
    expect(bearers(api)).toEqual(["Bearer kept", "Bearer kept"]);
    expect(problems).toEqual([
      expect.stringMatching(/: token .*\/token cannot be read: ENOENT; what was read before is still used$/),
      expect.stringMatching(/: token .*\/token is empty; what was read before is still used$/),
    ]);
  });
});

describe("a certificate authority's file", () => {
  it("that is empty or away for a moment leaves the last one in use, and is told", async () => {
    const { folder, api, clock, problems, connect } = await setup();
    const ca = join(folder, "ca.crt");
    await writeFile(ca, authority.cert);
    const client = await connect(
      { token: "t" },
      { "certificate-authority-data": undefined, "certificate-authority": "ca.crt" },
    );
    await writeFile(ca, "");
    await clock.advance(10_000);
    await client.get(things, place);
    await rm(ca);
    await clock.advance(10_000);
    await client.get(things, place);
    expect(bearers(api)).toEqual(["Bearer t", "Bearer t"]);
    expect(problems).toEqual([
      expect.stringMatching(/^kubeconfig .*: one of them is empty; what was read before is still used$/),
      expect.stringMatching(/^kubeconfig .*: ENOENT: .*ca\.crt'; what was read before is still used$/),
    ]);
  });
});

describe("a pod's service account", () => {
  it("is used with its rotated token, namespace and authority", async () => {
    const { folder, api, clock } = await setup();
    const put = (name: string, text: string) => writeFile(join(folder, name), text);
    await Promise.all([put("token", "one"), put("namespace", "ours\n"), put("ca.crt", authority.cert)]);
    const env = {
      HOME: folder,
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(api.port),
    };
    const client = createKubeClient(await loadCredentials({ env, clock, serviceAccountFolder: folder }));
    onTestFinished(() => client.close());
    expect(client.defaultNamespace).toBe("ours");
    await client.get(things, place);
    await put("token", "two");
    await clock.advance(10_000);
    await client.get(things, place);
    expect(bearers(api)).toEqual(["Bearer one", "Bearer two"]);
  });
});

describe("a client certificate", () => {
  it("that is renewed on disk is used by new connections; a watch goes on over the old", async () => {
    const { folder, api, clock, problems, connect } = await setup();
    const [cert, key] = [join(folder, "client.crt"), join(folder, "client.key")];
    const [first, second] = [await authority.issue("first"), await authority.issue("second")];
    await Promise.all([writeFile(cert, first.cert), writeFile(key, first.key)]);
    const client = await connect({ "client-certificate": cert, "client-key": key });
    const watch = client.watch(things, {}, { inactivityMs: 60_000 })[Symbol.asyncIterator]();
    await watch.next();
    await client.get(things, place);

    await writeFile(cert, second.cert); // and the key is not there yet
    await clock.advance(10_000);
    await client.get(things, place);
    expect(problems).toEqual([
      expect.stringContaining("certificate, key and certificate authority do not go together"),
    ]);

    await writeFile(key, second.key);
    await clock.advance(10_000);
    let ended = false;
    void watch.next().then(
      () => (ended = true),
      () => (ended = true),
    );
    for (let i = 0; i < 3; i++) await client.get(things, place);
    const gets = api.requests.filter((request) => !request.watch);
    expect(gets.map(({ subject }) => subject)).toEqual(["first", "first", "second", "second", "second"]);
    const old = new Set(gets.slice(0, 2).map(({ connection }) => connection));
    expect(gets.slice(2).filter(({ connection }) => old.has(connection))).toEqual([]);
    expect(ended).toBe(false);
    await client.close();
    await until(() => ended);
  });

  it("that was refused is read again at once", async () => {
    const { folder, api, connect } = await setup(({ subject }) => (subject === "second" ? 200 : 401));
    const [cert, key] = [join(folder, "client.crt"), join(folder, "client.key")];
    const write = async (name: string) => {
      const issued = await authority.issue(name);
      await Promise.all([writeFile(cert, issued.cert), writeFile(key, issued.key)]);
    };
    await write("first");
    const client = await connect({ "client-certificate": cert, "client-key": key });
    await write("second");
    await client.get(things, place);
    expect(api.requests.map(({ subject }) => subject)).toEqual(["first", "second"]);
  });
});

describe("an exec plug-in", () => {
  /** A plug-in that prints answer.json, and notes each run with what it was told. */
  async function plugin(folder: string) {
    const script = join(folder, "plugin.mjs");
    await writeFile(
      script,
      `import { appendFileSync, readFileSync } from "node:fs";
       appendFileSync(${JSON.stringify(join(folder, "runs"))}, process.env.KUBERNETES_EXEC_INFO + "\\n");
       process.stdout.write(readFileSync(${JSON.stringify(join(folder, "answer.json"))}));`,
    );
    const apiVersion = "client.authentication.k8s.io/v1";
    return {
      exec: { apiVersion, command: process.execPath, args: [script], interactiveMode: "Never" },
      answers: (status: object) =>
        writeFile(join(folder, "answer.json"), JSON.stringify({ apiVersion, kind: "ExecCredential", status })),
      runs: async () => (await readFile(join(folder, "runs"), "utf8")).trim().split("\n"),
    };
  }
  const at = (ms: number) => new Date(ms).toISOString();

  it("runs once until its token ends, then again", async () => {
    const { folder, api, clock, connect } = await setup();
    const { exec, answers, runs } = await plugin(folder);
    await answers({ token: "one", expirationTimestamp: at(clock.now() + 60_000) });
    const client = await connect({ exec: { ...exec, provideClusterInfo: true } });
    await client.get(things, place);
    await answers({ token: "two" });
    await clock.advance(59_000);
    await client.get(things, place);
    await clock.advance(1_000);
    await Promise.all([client.get(things, place), client.get(things, place)]);
    await clock.advance(3_600_000);
    await client.get(things, place);
    expect(bearers(api)).toEqual(["Bearer one", "Bearer one", "Bearer two", "Bearer two", "Bearer two"]);
    const told = await runs();
    expect(told).toHaveLength(2);
    expect(JSON.parse(told[0] ?? "")).toEqual({
      apiVersion: exec.apiVersion,
      kind: "ExecCredential",
      spec: { interactive: false, cluster: { server: api.url, "certificate-authority-data": caData } },
    });
  });

  it("whose token is refused runs again, once for all requests that were refused", async () => {
    const { folder, api, clock, connect } = await setup(({ authorization }) =>
      authorization === "Bearer good" ? 200 : 401,
    );
    const { exec, answers, runs } = await plugin(folder);
    await answers({ token: "bad", expirationTimestamp: at(clock.now() + 3_600_000) });
    const client = await connect({ exec });
    await answers({ token: "good" });
    await Promise.all(Array.from({ length: 5 }, () => client.get(things, place)));
    expect(bearers(api).filter((bearer) => bearer === "Bearer good")).toHaveLength(5);
    expect(await runs()).toHaveLength(2);
  });

  it("that gives what has ended is asked at most once a second", async () => {
    const { folder, clock, connect } = await setup();
    const { exec, answers, runs } = await plugin(folder);
    await answers({ token: "late", expirationTimestamp: at(clock.now() - 1) });
    const client = await connect({ exec });
    for (let i = 0; i < 3; i++) await client.get(things, place);
    expect(await runs()).toHaveLength(1);
    await clock.advance(1_000);
    await client.get(things, place);
    expect(await runs()).toHaveLength(2);
  });

  it("may issue a client certificate", async () => {
    const { folder, api, clock, connect } = await setup();
    const { exec, answers } = await plugin(folder);
    const issue = async (name: string) => {
      const { cert, key } = await authority.issue(name);
      const expirationTimestamp = at(clock.now() + 60_000);
      await answers({ clientCertificateData: cert, clientKeyData: key, expirationTimestamp });
    };
    await issue("one");
    const client = await connect({ exec });
    await client.get(things, place);
    await issue("two");
    await clock.advance(60_000);
    await client.get(things, place);
    expect(api.requests.map(({ subject, authorization }) => [subject, authorization])).toEqual([
      ["one", undefined],
      ["two", undefined],
    ]);
  });

  it("that fails when its token has ended fails the request, with the reason", async () => {
    const { folder, clock, connect } = await setup();
    const { exec, answers } = await plugin(folder);
    await answers({ token: "one", expirationTimestamp: at(clock.now() + 60_000) });
    const client = await connect({ exec });
    await answers({ token: "" });
    await clock.advance(60_000);
    await expect(client.get(things, place)).rejects.toMatchObject({
      status: 0,
      message: expect.stringMatching(
        /^get things team\/a: exec plug-in ".*": its output is no ExecCredential: status\.token/,
      ),
    });
    await answers({ token: "two" });
    await clock.advance(1_000);
    await client.get(things, place);
  });

  const node = process.execPath;
  it.each<[string, object, RegExp]>([
    ["is not there", { command: "mooring-no-such", installHint: "\nget it at x\n" }, /: no such program; get it at x$/],
    [
      "exits",
      { args: ["-e", "console.log('t0ken');console.error('\\nlog in first\\nmore');process.exit(3)"] },
      /: exit 3: log in first$/,
    ],
    ["says nothing", { args: ["-e", "process.exit(1)"] }, /: exit 1: it wrote nothing on standard error$/],
    ["prints no JSON", { args: ["-e", "console.log('t0ken')"] }, /: its output is no ExecCredential: it is not JSON/],
    [
      "prints something else",
      { args: ["-e", 'console.log(\'{"kind":"t0ken"}\')'] },
      /: its output is no ExecCredential: kind: /,
    ],
    [
      "wants a terminal",
      { interactiveMode: "Always" },
      /: interactiveMode is Always, and there is no terminal; use a plug-in/,
    ],
    ...(
      [
        [
          "has another version",
          { apiVersion: "client.authentication.k8s.io/v1beta1" },
          {},
          /: it answered in .*v1beta1; /,
        ],
        ["issues nothing", {}, {}, /: neither a token nor a certificate/],
        [
          "forgets the key",
          {},
          { clientCertificateData: "c" },
          /: clientCertificateData and clientKeyData go together/,
        ],
        [
          "names no time",
          {},
          { token: "t0ken", expirationTimestamp: "soon" },
          /: expirationTimestamp is not an RFC 3339/,
        ],
      ] as const
    ).map(([name, head, status, expected]): [string, object, RegExp] => {
      const answer = { apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", ...head, status };
      return [name, { args: ["-e", `console.log(${JSON.stringify(JSON.stringify(answer))})`] }, expected];
    }),
  ])("that %s is one line at the start", async (_name, change, expected) => {
    const { connect } = await setup();
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: node, args: [], ...change };
    const error = await connect({ exec }).catch((reason: unknown) => reason);
    if (!(error instanceof Error)) throw new Error("it was accepted");
    expect(error.message).toMatch(expected);
    expect(error.message).toMatch(/^exec plug-in "[^\n]*$/);
    expect(error.message).not.toContain("t0ken");
  });
});

describe("a connection", () => {
  it("goes through the kubeconfig's proxy, even to a loopback address", async () => {
    const { api, connect } = await setup();
    const proxy = await connectProxy();
    const client = await connect({ token: "t" }, { "proxy-url": proxy.url.replace("://", "://me:secret@") });
    await Promise.all([client.get(things, place), client.get(things, place)]);
    await client.get(things, place);
    const watch = client.watch(things, {}, { inactivityMs: 60_000 })[Symbol.asyncIterator]();
    await watch.next();
    const basic = `Basic ${Buffer.from("me:secret").toString("base64")}`;
    expect(proxy.tunnels).toEqual(Array(3).fill({ to: `127.0.0.1:${api.port}`, authorization: basic }));
    expect(bearers(api)).toEqual(Array(4).fill("Bearer t"));
    expect(api.requests[0]?.headers).not.toHaveProperty("proxy-authorization");
  });

  it("goes through the environment's proxy unless NO_PROXY names the server", async () => {
    const { api, connect } = await setup();
    const proxy = await connectProxy();
    // Only the proxy knows where this name is.
    const cluster = { server: `https://api.test:${api.port}` };
    const client = await connect({}, cluster, { env: { HTTPS_PROXY: proxy.url, NO_PROXY: "10.0.0.0/8,other.test" } });
    await client.get(things, place);
    expect(proxy.tunnels.map(({ to }) => to)).toEqual([`api.test:${api.port}`]);
    const direct = await connect({}, cluster, { env: { HTTPS_PROXY: proxy.url, no_proxy: ".test" } });
    await expect(direct.get(things, place)).rejects.toMatchObject({
      status: 0,
      message: expect.stringContaining("api.test"),
    });
    expect(proxy.tunnels).toHaveLength(1);
  });

  it("trusts the cluster's authority and name only", async () => {
    const { api, connect } = await setup();
    const name = { "tls-server-name": "api.test" };
    await (await connect({}, name)).get(things, place);
    const other = await connect({}, { "tls-server-name": "other.test" });
    await expect(other.get(things, place)).rejects.toThrow("ERR_TLS_CERT_ALTNAME_INVALID");
    const stranger = await connect({}, { "certificate-authority-data": undefined });
    await expect(stranger.get(things, place)).rejects.toThrow(/CERT|SIGNATURE/);
    const trusting = { "certificate-authority-data": undefined, "insecure-skip-tls-verify": true };
    await (await connect({}, trusting)).get(things, place);
    expect(api.requests).toHaveLength(2);
  });

  it("carries impersonation, each group by itself", async () => {
    const { api, connect } = await setup();
    const client = await connect({ token: "t", as: "jane", "as-groups": ["a", "b,c"] });
    await client.get(things, place);
    const [request] = api.requests;
    expect(request?.headers["impersonate-user"]).toBe("jane");
    const raw = request?.rawHeaders ?? [];
    expect(raw.filter((_, index) => raw[index - 1]?.toLowerCase() === "impersonate-group")).toEqual(["a", "b,c"]);
  });

  it("in the clear carries no secret", async () => {
    const { folder } = await setup();
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const kubeconfig = await kubeconfigIn(
      folder,
      { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
      { token: "t", username: "u", password: "p" },
    );
    const client = createKubeClient(await loadCredentials({ kubeconfig }));
    onTestFinished(() => client.close());
    await client.get(things, place);
    expect(seen).toEqual([undefined]);
  });

  it("knows a user by name and password", async () => {
    const { api, connect } = await setup();
    await (await connect({ username: "u", password: "p" })).get(things, place);
    expect(bearers(api)).toEqual([`Basic ${Buffer.from("u:p").toString("base64")}`]);
  });
});
