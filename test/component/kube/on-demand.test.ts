import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { kubeconfigIn, temporaryFolder } from "../../support/tls-api-server.ts";

/** Loads credentials in a process of their own. @returns whether that loaded client-node */
async function loadsClientNode(options: object): Promise<boolean> {
  const script = `
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    const { loadCredentials } = await import(${JSON.stringify(import.meta.resolve("../../../src/kube/credentials.ts"))});
    await loadCredentials(${JSON.stringify(options)});
    console.log(JSON.stringify(urls.filter((url) => url.includes("/@kubernetes/client-node/"))));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
  return JSON.parse(stdout).length > 0;
}

describe("client-node", () => {
  it("is loaded for a kubeconfig, and not in a pod", async () => {
    const folder = await temporaryFolder();
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const kubeconfig = await kubeconfigIn(folder, { server: "https://api.test" }, { token: "t" });
    await writeFile(join(folder, "token"), "t");
    await writeFile(join(folder, "ca.crt"), "not checked before the first connection");
    const env = { HOME: folder, KUBERNETES_SERVICE_HOST: "10.0.0.1" };
    expect(await loadsClientNode({ env, serviceAccountFolder: folder })).toBe(false);
    expect(await loadsClientNode({ env, kubeconfig })).toBe(true);
  });
});
