import { stringify } from "yaml";
import type { KindDefinition } from "./definition.ts";
import { celRule } from "./rule.ts";
import { structuralSchema } from "./structural.ts";

const HEADER = "# Generated from src/api by `npm run generate`; do not edit.\n";

/** The CustomResourceDefinition of a kind, as an object of apiextensions.k8s.io/v1. */
export function customResourceDefinition(kind: KindDefinition): Record<string, unknown> {
  const { resource, columns, scale } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource.plural}.${resource.group}` },
    spec: {
      group: resource.group,
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular: kind.singular,
        shortNames: [...kind.shortNames],
        categories: ["mooring"],
      },
      scope: resource.namespaced ? "Namespaced" : "Cluster",
      versions: [
        {
          name: resource.version,
          served: true,
          storage: true,
          additionalPrinterColumns: columns.map(({ wide, ...column }) => (wide ? { ...column, priority: 1 } : column)),
          subresources: { status: {}, ...(scale === undefined ? {} : { scale }) },
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}

/** One CRD as YAML, the same bytes every time: keys sorted, nothing folded. */
export function crdYaml(kind: KindDefinition): string {
  return (
    HEADER +
    stringify(customResourceDefinition(kind), { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false })
  );
}

/** The file of a kind's CRD in crds/. */
export function crdFileName({ resource }: KindDefinition): string {
  return `${resource.group}_${resource.plural}.yaml`;
}

function rootSchema(kind: KindDefinition): Record<string, unknown> {
  return {
    type: "object",
    description: kind.description,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string", description: "Group and version of this representation." },
      kind: { type: "string", description: "Kind of this object." },
      metadata: { type: "object" },
      spec: structuralSchema(kind.spec),
      status: structuralSchema(kind.status),
    },
    ...(kind.rules === undefined ? {} : { "x-kubernetes-validations": kind.rules.map(celRule) }),
  };
}
