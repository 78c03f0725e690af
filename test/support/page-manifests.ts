import { parse, parseAllDocuments } from "yaml";
import { type Block, fencedBlocks } from "./markdown.ts";
import type { Page } from "./pages.ts";

type Metadata = { name?: string; generateName?: string; namespace?: string };
export type PageObject = { apiVersion: string; kind: string; metadata: Metadata; spec?: Record<string, unknown> };
/** The part of an Argo Workflow that matters here. */
export type ResourceStep = { action: string; successCondition: string; failureCondition: string; manifest: string };
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

/** Pages on which a block of YAML without a kind is a values file of the chart. */
const VALUES_PAGES = ["docs/how-to/install.md", "docs/how-to/alerts.md", "docs/how-to/tracing.md", "docs/how-to/ui.md"];

/** Values of the chart on the pages: values files, and those in a HelmRelease of Flux or an Application of Argo CD. */
export function chartValues(pages: readonly Page[]): { place: string; values: unknown }[] {
  return pages.flatMap(({ path, text }) =>
    fencedBlocks(text)
      .filter(({ language }) => language === "yaml")
      .flatMap((block) => {
        const place = `${path}:${block.line}`;
        if (!block.body.includes("kind:")) {
          return VALUES_PAGES.includes(path) ? [{ place, values: parse(block.body) as unknown }] : [];
        }
        return objectsIn(block)
          .map(releasedValues)
          .filter((values) => values !== undefined)
          .map((values) => ({ place, values }));
      }),
  );
}

/** The part of an Argo CD Application that matters here. */
type Application = PageObject & { spec: { source: { helm: { valuesObject: unknown } } } };

function releasedValues(object: PageObject): unknown {
  if (object.kind === "HelmRelease") return object.spec?.["values"];
  return object.kind === "Application" ? (object as Application).spec.source.helm.valuesObject : undefined;
}
