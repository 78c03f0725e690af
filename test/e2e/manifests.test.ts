import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { stringify } from "yaml";
import { NAMESPACE } from "../../scripts/release/chart.ts";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { tool } from "../../tools/programs/tool.ts";
import { prepared, test } from "./e2e-test.ts";
import { type Kubectl, kubectlOf } from "./kubectl.ts";
import { olmOf, validateBundle } from "./olm.ts";
import type { Prepared } from "./setup.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));
const KEY = "e2e-key";
const SIMULATOR = "mooring-simulator";

/** A way to install a release without Helm. */
type Installer = { install(): Promise<void>; remove(): Promise<void>; stop(): Promise<void> };

/** kubectl with files of the release that hold everything. */
function byKubectl({ kubectl }: Kubectl, ...files: string[]): Installer {
  return {
    install: async () => void (await kubectl("apply", "--server-side", ...files)),
    remove: async () => void (await kubectl("delete", "--ignore-not-found", "--timeout=180s", ...files)),
    stop: async () => undefined,
  };
}

type Form = { form: string; installerOf(tools: Kubectl, release: Prepared): Installer };
const FORMS: readonly Form[] = [
  { form: "install.yaml", installerOf: (tools, { release }) => byKubectl(tools, "-f", join(release, "install.yaml")) },
  { form: "the kustomize base", installerOf: (tools, { kustomize }) => byKubectl(tools, "-k", kustomize) },
  { form: "the bundle, by OLM", installerOf: (tools, release) => olmOf(tools, release, NAMESPACE) },
];

const account = {
  apiVersion: "mooring.dev/v1alpha1",
  kind: "ClusterAccount",
  metadata: { name: "default" },
  spec: {
    baseURL: `http://${SIMULATOR}.${NAMESPACE}.svc:8090`,
    apiKeySecretRef: { namespace: NAMESPACE, name: "mooring-account", key: "apiKey" },
  },
};

const secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "mooring-account", namespace: NAMESPACE },
  stringData: { apiKey: KEY },
};

test("the bundle passes the checks of `operator-sdk bundle validate`, also those for OperatorHub", async () => {
  if (prepared !== undefined) await validateBundle(prepared);
});

describe.each(FORMS)("a release that is installed with $form", ({ installerOf }) => {
  let tools: Kubectl | undefined;
  let installer: Installer | undefined;
  const kubectl = (...args: string[]) => tools?.kubectl(...args) ?? expect.fail("there is no cluster");
  const apply = (text: string) => tools?.kubectlWith(text, "apply", "-f", "-") ?? expect.fail("there is no cluster");

  beforeAll(async () => {
    if (prepared === undefined) return;
    const found = kubectlOf(prepared.kubeconfig);
    await found.refuseUsedCluster();
    tools = found;
    installer = installerOf(found, prepared);
  });

  afterAll(async () => {
    try {
      await installer?.remove();
    } finally {
      await installer?.stop();
    }
  });

  test("runs the image of the release and accepts an account", async () => {
    await installer?.install();
    await kubectl("-n", NAMESPACE, "rollout", "status", "deployment/mooring", "--timeout=180s");
    const image = "jsonpath={.items[*].spec.containers[*].image}";
    expect(await kubectl("-n", NAMESPACE, "get", "pods", "-o", image)).toBe(prepared?.image);
    await apply(`${await simulatorManifests()}---\n${stringify(secret)}---\n${stringify(account)}`);
    await kubectl("-n", NAMESPACE, "rollout", "status", `deployment/${SIMULATOR}`, "--timeout=180s");
    await kubectl("wait", "--for=condition=Ready", "--timeout=120s", "clusteraccount/default");
  });

  test("makes an endpoint and a speech result that can be fetched", async () => {
    for (const name of ["endpoint-minimal", "speech-turbo"])
      await kubectl("apply", "-f", join(EXAMPLES, `${name}.yaml`));
    await kubectl("wait", "--for=condition=Ready", "--timeout=120s", "gpuendpoint/minimal", "speechjob/announcement");
    const path = "jsonpath={.status.results[0].url}";
    const url = new URL(await kubectl("get", "speechjob", "announcement", "-o", path));
    const proxy = `/api/v1/namespaces/${NAMESPACE}/services/${SIMULATOR}:http/proxy`;
    const folder = await mkdtemp(join(tmpdir(), "mooring-e2e-"));
    try {
      const file = join(folder, "announcement.mp3");
      const script = 'kubectl --kubeconfig "$1" get --raw "$2" >"$3"';
      await runProgram("sh", [
        "-c",
        script,
        "fetch",
        prepared?.kubeconfig ?? "",
        `${proxy}${url.pathname}${url.search}`,
        file,
      ]);
      expect((await readFile(file)).subarray(0, 2).toString("hex")).toMatch(/^(4944|fff[0-9a-f])/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("is seen by the commands of the npm package and by the kubectl plugin of krew", async () => {
    if (prepared === undefined) return;
    const { commands, plugin, kubeconfig, version } = prepared;
    const PATH = `${join(commands, "bin")}${delimiter}${process.env.PATH}`;
    const options = { env: { ...process.env, KUBECONFIG: kubeconfig, PATH } };
    expect(await runProgram("mooring", ["--version"], options)).toBe(version);
    expect(await runProgram("mooring", ["status"], options)).toContain("minimal");
    expect(await runProgram("kubectl", ["mooring", "status"], options)).toContain("minimal");
    expect(await runProgram(join(plugin, "dist/mooring.mjs"), ["status"], options)).toContain("minimal");
  });

  test("is removed after its objects, as docs/how-to/install.md describes", async () => {
    const kinds = "gpuendpoints,speechjobs,videojobs,billreports,artifactstores,accounts";
    await kubectl("delete", kinds, "--all", "--all-namespaces", "--timeout=60s");
    await kubectl("delete", "clusteraccounts", "--all", "--timeout=60s");
    await installer?.remove();
    expect(await kubectl("get", "crd", "-o", "name")).not.toContain("mooring.dev");
    expect(await kubectl("get", "namespaces", "-o", "name")).not.toContain(NAMESPACE);
  });
});

/** The simulator of the packed chart: `install.yaml` and the kustomize base have the chart's defaults, and so none. */
async function simulatorManifests(): Promise<string> {
  const chart = join(prepared?.release ?? "", `mooring-${prepared?.version}.tgz`);
  const settings = `simulator.enabled=true,simulator.apiKey=${KEY}`;
  const only = ["--show-only=templates/simulator.yaml", "--namespace", NAMESPACE, "--set", settings];
  return runProgram(await tool("helm"), ["template", "mooring", chart, ...only]);
}
