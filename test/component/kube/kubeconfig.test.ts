import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { systemClock } from "../../../src/base/clock.ts";
import { loadCredentials } from "../../../src/kube/credentials.ts";
import type { ClusterAccess } from "../../../src/kube/identity.ts";
import { openKubeconfig } from "../../../src/kube/kubeconfig.ts";
import { base64 } from "../../support/manifests.ts";
import { temporaryFolder } from "../../support/tls-api-server.ts";

const folder = await temporaryFolder();
afterAll(() => rm(folder, { recursive: true, force: true }));
let files = 0;

async function file(content: object | string): Promise<string> {
  const path = join(folder, `config-${++files}`);
  await writeFile(path, typeof content === "string" ? content : stringify(content));
  return path;
}

const server = "https://api.test:6443";
function config(cluster: object = { server }, user: object | null = {}) {
  return {
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "team" } }],
    "current-context": "x",
  };
}
const open = (paths: string[]): Promise<ClusterAccess> =>
  openKubeconfig(paths, { label: "label", env: process.env, clock: systemClock });
const read = async (...contents: (object | string)[]) => open(await Promise.all(contents.map(file)));
async function refusal(...contents: (object | string)[]): Promise<string> {
  const error = await read(...contents).catch((reason: unknown) => reason);
  if (!(error instanceof Error)) throw new Error("it was accepted");
  expect(error.message).not.toContain("\n");
  return error.message;
}

describe("a kubeconfig", () => {
  it("gives the current context's cluster, user and namespace", async () => {
    const access = await read(
      config({ server, "tls-server-name": "name.test", "proxy-url": "http://p" }, { token: "t" }),
    );
    expect(access).toMatchObject({
      origin: "label",
      server: new URL(server),
      proxyURL: "http://p",
      namespace: "team",
    });
    expect(await access.read(false)).toEqual({
      headers: { Authorization: "Bearer t" },
      tls: { servername: "name.test" },
      expiresAt: Number.POSITIVE_INFINITY,
    });
  });

  it("takes paths from its own folder on, and data before paths", async () => {
    await mkdir(join(folder, "tls"));
    await writeFile(join(folder, "tls", "a.crt"), "CERT");
    await writeFile(join(folder, "a.key"), "KEY");
    await writeFile(join(folder, "token"), "from-file\n");
    const user = {
      "client-certificate": "tls/a.crt",
      "client-key": join(folder, "a.key"),
      tokenFile: "token",
      token: "t",
    };
    const cluster = { server, "certificate-authority": "ca.crt", "certificate-authority-data": base64("PEM") };
    expect(await (await read(config(cluster, user))).read(false)).toMatchObject({
      headers: { Authorization: "Bearer from-file" },
      tls: { ca: "PEM", cert: "CERT", key: "KEY" },
    });
    const data = { "client-certificate-data": base64("DATA"), "client-key-data": base64("OWN") };
    expect(await (await read(config({ server }, { ...user, ...data }))).read(false)).toMatchObject({
      tls: { cert: "DATA", key: "OWN" },
    });
  });

  it("may leave out or empty what it does not need", async () => {
    const content = `{clusters: [{name: c, cluster: {server: "${server}", certificate-authority: ""}}], users: null,
      contexts: [{name: x, context: {cluster: c}}], current-context: x, preferences: {}}`;
    const access = await read(content);
    expect(access.namespace).toBeUndefined();
    const nothing = { headers: {}, tls: {}, expiresAt: Number.POSITIVE_INFINITY };
    expect(await access.read(false)).toEqual(nothing);
    expect(await (await read(config({ server }, null))).read(false)).toEqual(nothing);
    const empty = { "client-certificate": "", "client-key": null, token: "", tokenFile: "", username: "", as: "" };
    expect(await (await read(config({ server }, empty))).read(false)).toEqual(nothing);
  });

  it("impersonates", async () => {
    const user = { as: "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": { "Acme.com/Team": ["x"] } };
    expect((await read(config({ server }, user))).impersonation).toEqual({
      "Impersonate-User": "jane",
      "Impersonate-Uid": "7",
      "Impersonate-Group": ["a", "b"],
      "Impersonate-Extra-acme.com%2Fteam": ["x"],
    });
  });

  it("has exec plug-ins, by name on PATH or by a path from its folder on", async () => {
    const apiVersion = "client.authentication.k8s.io/v1";
    await mkdir(join(folder, "bin"));
    const answer = `{"apiVersion":"${apiVersion}","kind":"ExecCredential","status":{"token":"$A-$#"}}`;
    await writeFile(join(folder, "bin", "issue-token"), `#!/bin/sh\ncat <<END\n${answer}\nEND\n`, { mode: 0o755 });
    const of = async (command: string, env: { name: string; value: string }[]) =>
      (await (await read(config({ server }, { exec: { apiVersion, command, env } }))).read(false)).headers;
    const a = { name: "A", value: "b" };
    const path = { name: "PATH", value: `${join(folder, "bin")}:${process.env["PATH"]}` };
    expect(await of("issue-token", [a, path])).toEqual({ Authorization: "Bearer b-0" });
    expect(await of("./bin/issue-token", [a])).toEqual({ Authorization: "Bearer b-0" });
  });
});

describe("several files", () => {
  it("are merged, and the first that says something wins", async () => {
    const first = { users: [{ name: "u", user: { token: "first" } }] };
    const second = { ...config({ server }, { token: "second" }), users: [{ name: "u", user: { token: "second" } }] };
    const third = { ...config({ server: "https://third.test" }), "current-context": "other" };
    const access = await read(first, second, third);
    expect(access.server).toEqual(new URL(server));
    expect((await access.read(false)).headers).toEqual({ Authorization: "Bearer first" });
  });

  it("keep their own folders for paths", async () => {
    await mkdir(join(folder, "sub"), { recursive: true });
    const sub = join(folder, "sub", "config");
    await writeFile(sub, stringify({ users: [{ name: "u", user: { tokenFile: "token" } }] }));
    await writeFile(join(folder, "sub", "token"), "of-sub");
    const access = await open([sub, await file({ ...config(), users: [] })]);
    expect((await access.read(false)).headers).toEqual({ Authorization: "Bearer of-sub" });
  });

  it("may be missing, but not all", async () => {
    const gone = join(folder, "gone");
    expect((await open([gone, await file(config())])).namespace).toBe("team");
    await expect(open([gone, `${gone}2`])).rejects.toThrow("label: none of these files exists");
  });
});

describe("a wrong kubeconfig is told in one line:", () => {
  it("no such file", async () => {
    await expect(loadCredentials({ kubeconfig: join(folder, "gone") })).rejects.toThrow(
      `kubeconfig ${folder}/gone: no such file`,
    );
    await expect(loadCredentials({ kubeconfig: folder })).rejects.toThrow(
      `kubeconfig ${folder}: cannot be read: EISDIR`,
    );
  });

  it("not YAML, without showing what it holds", async () => {
    const message = await refusal("users:\n  - token: 'hunter2\n  x: [");
    expect(message).toMatch(/^kubeconfig .*config-\d+: not YAML: .* at line \d/);
    expect(message).not.toContain("hunter2");
  });

  it.each<{ name: string; content: object | string; expected: string | RegExp }>([
    { name: "another shape", content: "just text", expected: /^kubeconfig .*: the whole: Invalid input/ },
    {
      name: "a wrong field",
      content: config({ server: 1 }),
      expected: /^kubeconfig .*: clusters\.0\.cluster\.server: Invalid input/,
    },
    {
      name: "no current context",
      content: { ...config(), "current-context": "" },
      expected: /^label: current-context is not set; kubectl config/,
    },
    {
      name: "a context that is not there",
      content: { ...config(), "current-context": "y" },
      expected: 'label: there is no context "y"; it has x',
    },
    {
      name: "a cluster that is not there",
      content: { ...config(), clusters: [] },
      expected: 'label: there is no cluster "c"; it has none',
    },
    {
      name: "a user that is not there",
      content: { ...config(), users: null },
      expected: 'label: there is no user "u"; it has none',
    },
    {
      name: "a server that is no URL",
      content: config({ server: "api.test:6443" }),
      expected: 'label: cluster "c": server "api.test:6443": expected an http:// or https:// URL',
    },
    {
      name: "a CA that is not to be looked at",
      content: config({ server, "certificate-authority": "ca", "insecure-skip-tls-verify": true }),
      expected: 'label: cluster "c": certificate-authority and insecure-skip-tls-verify exclude each other; remove one',
    },
    {
      name: "a certificate without its key",
      content: config({ server }, { "client-certificate": "a" }),
      expected: 'label: user "u": client-certificate and client-key go together; one is missing',
    },
    {
      name: "a provider that kubectl dropped",
      content: config({ server }, { "auth-provider": { name: "gcp" } }),
      expected: 'label: user "u": auth-provider "gcp" is not known (only oidc); use its exec plug-in',
    },
    {
      name: "a plug-in of another time",
      content: config({ server }, { exec: { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "a" } }),
      expected:
        /users\.0\.user\.exec\.apiVersion: Invalid option: expected one of "client\.authentication\.k8s\.io\/v1"/,
    },
  ])("$name", async ({ content, expected }) => {
    expect(await refusal(content)).toMatch(expected);
  });
});

describe("without --kubeconfig", () => {
  const nowhere = join(folder, "nowhere");
  const found = async (env: Record<string, string>) =>
    (await loadCredentials({ env, serviceAccountFolder: join(folder, "pod") })).server;

  it("KUBECONFIG, then the home's, then the pod's service account, else one line", async () => {
    await mkdir(join(folder, "pod"), { recursive: true });
    await mkdir(join(folder, "home", ".kube"), { recursive: true });
    const pod = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443", HOME: nowhere };
    await expect(found(pod)).rejects.toThrow(/^no cluster is configured: KUBECONFIG is not set, .*nowhere/);
    await expect(found({ HOME: nowhere })).rejects.toThrow("set --kubeconfig or KUBECONFIG");

    await writeFile(join(folder, "pod", "token"), "t");
    await expect(found(pod)).rejects.toThrow(
      `service account of the pod: certificate-authority ${folder}/pod/ca.crt cannot be read: ENOENT`,
    );

    await writeFile(join(folder, "home", ".kube", "config"), stringify(config({ server: "https://home.test" })));
    expect(await found({ ...pod, HOME: join(folder, "home") })).toBe("https://home.test");

    const named = `${nowhere}:${await file(config({ server: "https://named.test/prefix/" }))}`;
    expect(await found({ ...pod, HOME: join(folder, "home"), KUBECONFIG: named })).toBe("https://named.test/prefix");
  });
});
