import { Document, Scalar } from "yaml";
import { KINDS } from "../src/api/v1alpha1/kinds.ts";
import { GROUP } from "../src/api/v1alpha1/meta.ts";

/** The ConfigMap with which Argo CD uses `lua` as the health check of each kind. */
export function healthConfigMap(lua: string): string {
  const document = new Document({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "argocd-cm",
      labels: { "app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd" },
    },
    data: {},
  });
  for (const { resource } of KINDS) {
    const script = new Scalar(lua);
    script.type = Scalar.BLOCK_LITERAL;
    document.setIn(["data", `resource.customizations.health.${GROUP}_${resource.kind}`], script);
  }
  document.commentBefore =
    " Made from health.lua by `npm run generate`. It adds to the ConfigMap of your Argo CD:\n kubectl patch configmap argocd-cm -n argocd --type=merge --patch-file examples/gitops/argo-cd/argocd-cm.yaml";
  return document.toString({ lineWidth: 0 });
}
