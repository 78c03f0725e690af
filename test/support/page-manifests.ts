import { parse, parseAllDocuments } from "yaml";
import type { Block } from "./markdown.ts";

type Metadata = { name?: string; generateName?: string; namespace?: string };
export type PageObject = { apiVersion: string; kind: string; metadata: Metadata; spec?: Record<string, unknown> };
/** The part of an Argo Workflow that matters here. */
export type ResourceStep = {
  action: string;
  successCondition: string;
  failureCondition: string;
  manifest: string;
};
type Workflow = PageObject & { spec: { templates: { resource?: ResourceStep }[] } };

/** The objects in a block of YAML. */
export function objectsIn({ body }: Pick<Block, "body">): PageObject[] {
  return parseAllDocuments(body).map((document) => document.toJS() as PageObject);
}

/** The steps of a workflow that make objects, as Argo Workflows reads them; none of another object. */
export function resourceSteps(object: PageObject): ResourceStep[] {
  if (object.kind !== "Workflow") return [];
  return (object as Workflow).spec.templates.flatMap(({ resource }) => resource ?? []);
}

/** What becomes an object of the cluster: the object itself, or what a workflow makes. */
export function made(object: PageObject): PageObject[] {
  return object.kind === "Workflow"
    ? resourceSteps(object).map(({ manifest }) => parse(manifest) as PageObject)
    : [object];
}
