/** The version of Kubernetes (`v1.36.3`) that the text of a go.mod requires. */
export function kubernetesVersion(goMod: string): string {
  const version = /^\s*(?:require\s+)?k8s\.io\/kubernetes\s+(v\d+\.\d+\.\d+)\s*$/m.exec(goMod)?.[1];
  if (version === undefined) {
    throw new Error("controlplane/go.mod: no `k8s.io/kubernetes vX.Y.Z` among its requirements");
  }
  return version;
}
