import { cut } from "../../../api/v1alpha1/conditions.ts";
import type { GpuEndpoint } from "../../../api/v1alpha1/gpu-endpoint.ts";
import { API_VERSION } from "../../../api/v1alpha1/meta.ts";
import { manifestYaml, oneLine, quoted } from "../../../base/manifest-yaml.ts";
import type { EndpointRecord } from "../../../provider/endpoints/endpoint-record.ts";
import { objectNames } from "./names.ts";
import { definedOnly, type ImportOptions, importSpec, type SpecDraft } from "./spec.ts";

export type ManifestOptions = ImportOptions & {
  /** `metadata.namespace`; undefined leaves it out. */
  namespace: string | undefined;
  /** Names of other objects of that namespace. */
  reservedNames?: Iterable<string>;
  /** GpuEndpoints that own endpoints already, by endpoint ID: the manifest updates that object. */
  existing?: ReadonlyMap<string, GpuEndpoint>;
};

/** One endpoint of the service as manifests. */
export type ImportedEndpoint = {
  id: string;
  /** `metadata.name` of the GpuEndpoint. */
  name: string;
  /** Name of its file, without an extension: unique among those of an import. */
  file: string;
  /** Values that could not be imported, one line each, starting with the endpoint. */
  problems: string[];
  /** The GpuEndpoint; undefined when none can represent this endpoint. */
  endpoint: string | undefined;
  /** The Secret with the values of its environment. Apply it first. */
  secret: string | undefined;
};

/** Manifests in YAML for each endpoint, by name. When you apply them, they adopt the endpoints and plan no change. */
export function importedEndpoints(records: readonly EndpointRecord[], options: ManifestOptions): ImportedEndpoint[] {
  const { existing, reservedNames = [] } = options;
  const taken = records.flatMap(({ id }) => existing?.get(id)?.metadata.name ?? []);
  const unnamed = records.filter(({ id }) => existing?.has(id) !== true);
  const names = objectNames(unnamed, [...reservedNames, ...taken]);
  const nameOf = ({ id }: EndpointRecord) => existing?.get(id)?.metadata.name ?? names.get(id) ?? id;
  return records
    .map((record) => importedEndpoint(record, nameOf(record), options))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function importedEndpoint(record: EndpointRecord, name: string, options: ManifestOptions): ImportedEndpoint {
  const secretName = `${name}-env`;
  const present = options.existing?.get(record.id);
  const { spec: drafted, secretData, ...notes } = importSpec(record, secretName, options);
  const problems = notes.problems.map(bounded);
  const remarks = notes.remarks.map(bounded);
  const spec = drafted && present ? withImmutable(drafted, present) : drafted;
  const namespace = present?.metadata.namespace ?? options.namespace;
  const place = namespace === undefined ? {} : { namespace };
  const what = `endpoint ${record.id} ${quoted(record.name)}`;
  const comment = [
    `Imported from ${what}.`,
    ...(remarks.length === 0 ? [] : [`Not carried over, as no create or update can set it: ${remarks.join("; ")}.`]),
    ...problems.map((problem) => `Not carried over: ${problem}.`),
  ];
  const endpoint =
    spec === undefined
      ? undefined
      : manifestYaml({ apiVersion: API_VERSION, kind: "GpuEndpoint", metadata: { name, ...place }, spec }, comment);
  const secret =
    secretData === undefined
      ? undefined
      : manifestYaml(
          {
            apiVersion: "v1",
            kind: "Secret",
            metadata: { name: secretName, ...place },
            type: "Opaque",
            data: secretData,
          },
          [`The environment of ${what}; GpuEndpoint ${name} refers to it.`],
        );
  return {
    id: record.id,
    name,
    // Objects of several namespaces may have the same name; a name of ours has no dot.
    file: namespace === options.namespace ? name : `${namespace}.${name}`,
    problems: problems.map((problem) => oneLine(`${what}: ${problem}${endpoint === undefined ? ": not written" : ""}`)),
    endpoint,
    secret,
  };
}

/** Characters of a problem or a remark: it can quote a value of the service. */
const LONGEST_NOTE = 500;

function bounded(note: string): string {
  return cut(note, LONGEST_NOTE);
}

/** The API server refuses a change of appName and adoption. */
function withImmutable(draft: SpecDraft, { spec: { appName, adoption } }: GpuEndpoint): SpecDraft {
  return definedOnly({ ...draft, appName, adoption });
}
