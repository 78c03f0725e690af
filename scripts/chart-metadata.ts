import { parseDocument, Scalar, stringify } from "yaml";
import type { KindDefinition } from "../src/api/schema/definition.ts";
import { NAMES } from "./release/names.ts";

/** Chart.yaml with what Artifact Hub shows of the kinds and of the image. */
export function withArtifactHub(chartYaml: string, kinds: readonly KindDefinition[]): string {
  const chart = parseDocument(chartYaml);
  const crds = kinds.map(({ resource: { kind, version, plural, group }, description }) => ({
    kind,
    version,
    name: `${plural}.${group}`,
    displayName: kind,
    description,
  }));
  const images = [{ name: "mooring", image: `${NAMES.image}:${String(chart.get("appVersion"))}` }];
  for (const [name, list] of Object.entries({ crds, images })) {
    const text = new Scalar(stringify(list, { lineWidth: 0 }));
    text.type = Scalar.BLOCK_LITERAL;
    chart.setIn(["annotations", `artifacthub.io/${name}`], text);
  }
  return chart.toString({ lineWidth: 0, flowCollectionPadding: false });
}
