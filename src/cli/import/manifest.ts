import { API_VERSION } from "../../api/v1alpha1/meta.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import { objectNames } from "./names.ts";
import { type ImportOptions, importSpec } from "./spec.ts";
import { manifestYaml, oneLine, quoted } from "./yaml.ts";

export type ManifestOptions = ImportOptions & {
  /** `metadata.namespace`; undefined leaves it out. */
  namespace: string | undefined;
  /** Names of other objects of that namespace. */
  reservedNames?: Iterable<string>;
};

/** One endpoint of the service as manifests. */
export type ImportedEndpoint = {
  id: string;
  /** `metadata.name` of the GpuEndpoint. */
  name: string;
  /** Values that could not be carried over: a line each, which begins with the endpoint. */
  problems: string[];
  /** The GpuEndpoint; undefined when none can stand for this endpoint. */
  endpoint: string | undefined;
  /** The Secret with the values of its environment. It has to be there first. */
  secret: string | undefined;
};

/** Manifests in YAML for each endpoint, by name. Applied, they take the endpoints over and plan no change. */
export function importedEndpoints(records: readonly EndpointRecord[], options: ManifestOptions): ImportedEndpoint[] {
  const names = objectNames(records, options.reservedNames);
  return records
    .map((record) => importedEndpoint(record, names.get(record.id) ?? record.id, options))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function importedEndpoint(record: EndpointRecord, name: string, options: ManifestOptions): ImportedEndpoint {
  const secretName = `${name}-env`;
  const { spec, secretData, problems, remarks } = importSpec(record, secretName, options);
  const place = options.namespace === undefined ? {} : { namespace: options.namespace };
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
    problems: problems.map((problem) => oneLine(`${what}: ${problem}${endpoint === undefined ? ": not written" : ""}`)),
    endpoint,
    secret,
  };
}
