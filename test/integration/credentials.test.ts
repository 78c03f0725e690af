import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { createKubeClient, type KubeClient } from "../../src/kube/client.ts";
import { loadCredentials } from "../../src/kube/credentials.ts";
import type { Resource } from "../../src/kube/resource.ts";
import type { KubeObject } from "../../src/kube/types.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { serviceAccounts } from "../support/service-account-tokens.ts";
import { connectProxy, kubeconfigIn, temporaryFolder } from "../support/tls-api-server.ts";

const selfReviews: Resource = {
  group: "authentication.k8s.io",
  version: "v1",
  plural: "selfsubjectreviews",
  kind: "SelfSubjectReview",
  namespaced: false,
};

/** Whom the API server takes us for. */
async function whoAmI(client: KubeClient): Promise<string | undefined> {
  const question = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
    metadata: { name: "" },
    spec: {},
  };
  const answer = await client.create<KubeObject<object, { userInfo?: { username?: string } }>>(
    selfReviews,
    {},
    question,
  );
  return answer.status?.userInfo?.username;
}

const accounts = serviceAccounts("credentials");
const of = (name: string) => `system:serviceaccount:${accounts.namespace}:${name}`;
let first: string;
let second: string;
let cluster: object;

beforeAll(async () => {
  [first, second] = await Promise.all([accounts.token("first"), accounts.token("second")]);
  const admin = parse(await readFile(inject("kubeconfig"), "utf8"));
  cluster = admin.clusters[0].cluster;
});

/** A client for a user, over the cluster of the tests, in a folder of its own. */
async function connect(user: (folder: string) => object | Promise<object>, change: object = {}) {
  const folder = await temporaryFolder();
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const clock = createFakeClock();
  const kubeconfig = await kubeconfigIn(folder, { ...cluster, ...change }, await user(folder));
  const client = createKubeClient(await loadCredentials({ kubeconfig, clock }));
  onTestFinished(() => client.close());
  return { client, clock, folder };
}

describe("the API server knows us", () => {
  it("by the token of the moment", async () => {
    const { client, clock, folder } = await connect(async (folder) => {
      await writeFile(join(folder, "token"), first);
      return { tokenFile: "token" };
    });
    expect(await whoAmI(client)).toBe(of("first"));
    await writeFile(join(folder, "token"), second);
    await clock.advance(10_000);
    expect(await whoAmI(client)).toBe(of("second"));
  });

  it("by a token that came after the refusal of another", async () => {
    const { client, folder } = await connect(async (folder) => {
      await writeFile(join(folder, "token"), `${first.slice(0, -8)}AAAAAAAA`);
      return { tokenFile: "token" };
    });
    await writeFile(join(folder, "token"), second);
    expect(await whoAmI(client)).toBe(of("second"));
  });

  it("not by a token that is wrong and stays so", async () => {
    const { client } = await connect(() => ({ token: `${first.slice(0, -8)}AAAAAAAA` }));
    await expect(whoAmI(client)).rejects.toMatchObject({ status: 401 });
  });

  it("by what a plug-in issues after its first token was refused", async () => {
    const { client, folder } = await connect(async (folder) => {
      const script = join(folder, "plugin.sh");
      const said = (token: string, end: string) =>
        `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"${token}","expirationTimestamp":"${end}"}}`;
      await writeFile(join(folder, "1"), said("expired", "2000-01-01T00:00:00Z"));
      await writeFile(join(folder, "2"), said(first, "2100-01-01T00:00:00Z"));
      await writeFile(script, `cd "$(dirname "$0")"; echo run >>runs; cat "$(wc -l <runs | tr -d ' ')"\n`);
      const apiVersion = "client.authentication.k8s.io/v1";
      return { exec: { apiVersion, command: "/bin/sh", args: [script], interactiveMode: "IfAvailable" } };
    });
    expect(await whoAmI(client)).toBe(of("first"));
    expect(await whoAmI(client)).toBe(of("first"));
    expect(await readFile(join(folder, "runs"), "utf8")).toBe("run\nrun\n");
  });

  it("through a proxy", async () => {
    const proxy = await connectProxy();
    const { client } = await connect(() => ({ token: first }), { "proxy-url": proxy.url });
    expect(await whoAmI(client)).toBe(of("first"));
    expect(proxy.tunnels).toHaveLength(1);
  });

  it("as somebody else, if we may", async () => {
    const { client } = await connect(() => ({ token: first, as: "jane" }));
    await expect(whoAmI(client)).rejects.toMatchObject({ status: 403 });
  });
});
