import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import { KINDS } from "../../src/api/v1alpha1/kinds.ts";
import type { Manifest } from "./chart.ts";
import { NAMES } from "./names.ts";

type Rules = { rules: unknown[] };
type Binding = { roleRef: { kind: string; name: string }; subjects: { kind: string; name: string }[] };
type Deployment = { spec: { template: { spec: { serviceAccountName: string } } } };

/** OLM installs these kinds from a bundle beside what the ClusterServiceVersion holds. */
const BUNDLED = ["Service"];

/** What the console offers to create: one object of each kind. */
const EXAMPLES = [
  "account/account",
  "account/cluster-account",
  "billing/last-30-days",
  "endpoint-minimal",
  "speech-turbo",
  "store/volume",
  "video-image-to-video",
];

async function examples(): Promise<unknown[]> {
  const texts = await Promise.all(EXAMPLES.map((name) => readFile(`examples/${name}.yaml`, "utf8")));
  const objects = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()));
  return objects.filter(({ kind }) => KINDS.some(({ resource }) => resource.kind === kind));
}

/**
 * Writes a bundle for the Operator Lifecycle Manager. OLM makes service accounts and roles from the ClusterServiceVersion. It takes neither
 * ValidatingAdmissionPolicies nor NetworkPolicies: install.yaml has them for those who want them.
 */
export async function writeBundle(folder: string, version: string, objects: readonly Manifest[]): Promise<void> {
  const manifests = join(folder, "manifests");
  const metadata = join(folder, "metadata");
  for (const one of [manifests, metadata]) await mkdir(one, { recursive: true });
  const crds = objects.filter(({ kind }) => kind === "CustomResourceDefinition");
  for (const crd of crds) await writeFile(join(manifests, `${crd.metadata.name}.yaml`), yaml(crd));
  for (const object of objects.filter(({ kind }) => BUNDLED.includes(kind))) {
    const { namespace: _chosenByOlm, ...rest } = object.metadata;
    await writeFile(join(manifests, `${rest.name}.service.yaml`), yaml({ ...object, metadata: rest }));
  }
  const csv = serviceVersion(version, objects, await examples());
  await writeFile(join(manifests, "mooring.clusterserviceversion.yaml"), yaml(csv));
  const annotations = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.package.v1": NAMES.olmPackage,
    "operators.operatorframework.io.bundle.channels.v1": "alpha",
    "operators.operatorframework.io.bundle.channel.default.v1": "alpha",
  };
  await writeFile(join(metadata, "annotations.yaml"), yaml({ annotations }));
  const labels = Object.entries(annotations).map(([name, value]) => `LABEL ${name}=${value}`);
  const dockerfile = ["FROM scratch", ...labels, "COPY manifests /manifests/", "COPY metadata /metadata/", ""];
  await writeFile(join(folder, "bundle.Dockerfile"), dockerfile.join("\n"));
}

function serviceVersion(version: string, objects: readonly Manifest[], shown: readonly unknown[]): object {
  const deployment = only(objects, "Deployment");
  const { serviceAccountName } = (deployment as unknown as Deployment).spec.template.spec;
  const rulesOf = (binding: string) => boundRules(objects, binding, serviceAccountName);
  return {
    apiVersion: "operators.coreos.com/v1alpha1",
    kind: "ClusterServiceVersion",
    metadata: {
      name: `${NAMES.olmPackage}.v${version}`,
      annotations: {
        "alm-examples": JSON.stringify(shown, null, 2),
        capabilities: "Deep Insights",
        categories: "AI/Machine Learning, Cloud Provider",
        containerImage: `${NAMES.image}:${version}`,
        repository: NAMES.repository,
        support: NAMES.repository,
        description: "Serverless GPU endpoints, speech and video of a paid service, as Kubernetes objects",
      },
    },
    spec: {
      displayName: "Mooring",
      description:
        "Runs serverless GPU endpoints, speech synthesis and video generation of a paid service through Kubernetes objects. A paid request is never sent twice by accident.",
      version,
      maturity: "alpha",
      minKubeVersion: "1.30.0",
      provider: { name: "Mooring", url: NAMES.repository },
      links: [{ name: "Documentation", url: NAMES.repository }],
      keywords: ["operator", "gpu", "serverless", "speech", "video"],
      maintainers: [{ name: "Mooring maintainers", email: "maintainers@mooring.dev" }],
      installModes: [
        { type: "OwnNamespace", supported: false },
        { type: "SingleNamespace", supported: false },
        { type: "MultiNamespace", supported: false },
        { type: "AllNamespaces", supported: true },
      ],
      customresourcedefinitions: {
        owned: KINDS.map(({ resource: { group, version, plural, kind }, description }) => ({
          name: `${plural}.${group}`,
          kind,
          version,
          displayName: kind,
          description,
        })),
      },
      install: {
        strategy: "deployment",
        spec: {
          clusterPermissions: [{ serviceAccountName, rules: rulesOf("ClusterRoleBinding") }],
          permissions: [{ serviceAccountName, rules: rulesOf("RoleBinding") }],
          deployments: [{ name: deployment.metadata.name, spec: deployment.spec, label: deployment.metadata.labels }],
        },
      },
    },
  };
}

/** The rules that bindings of a kind give to the operator's service account. */
function boundRules(objects: readonly Manifest[], binding: string, serviceAccountName: string): unknown[] {
  const bindings = objects.filter(({ kind }) => kind === binding) as unknown as Binding[];
  const roles = bindings.filter(({ subjects }) => subjects.some(({ name }) => name === serviceAccountName));
  return roles.flatMap(({ roleRef }) => {
    const role = objects.find(({ kind, metadata }) => kind === roleRef.kind && metadata.name === roleRef.name);
    if (role === undefined) throw new Error(`the chart has no ${roleRef.kind} ${roleRef.name}`);
    return (role as unknown as Rules).rules;
  });
}

function only(objects: readonly Manifest[], wanted: string): Manifest {
  const [found, ...more] = objects.filter(({ kind }) => kind === wanted);
  if (found === undefined || more.length > 0) throw new Error(`the chart has not exactly one ${wanted}`);
  return found;
}

const yaml = (object: object) => stringify(object, { lineWidth: 0 });
