import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../../src/kube/types.ts";
import { tool } from "../../tools/programs/tool.ts";
import { type Ended, run } from "./run.ts";

export const CHART = fileURLToPath(new URL("../../charts/mooring", import.meta.url));

export type Rendered = KubeObject & { data?: Record<string, string>; rules?: Rule[] } & Record<string, unknown>;
export type Rule = {
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
  verbs: string[];
};

/** Runs helm without a cluster; never throws. */
export const helm = async (...args: string[]): Promise<Ended> => run(await tool("helm"), args);

/** The manifests of release `mooring`, hooks included, as text. @throws Error with what helm says */
async function renderText(namespace: string, ...args: string[]): Promise<string> {
  const settings = ["--set=cleanup.inTemplate=true", ...args];
  const { code, stdout, stderr } = await helm("template", "mooring", CHART, "--namespace", namespace, ...settings);
  if (code !== 0) throw new Error(stderr);
  return stdout;
}

/** The objects of release `mooring`. */
export async function render(namespace: string, ...args: string[]): Promise<Rendered[]> {
  const documents = parseAllDocuments(await renderText(namespace, ...args));
  return documents.map((document) => document.toJS() as Rendered).filter((object) => object !== null);
}
