/**
 * What to do when a URL cannot be read: undefined unless its host is a Service of the cluster (`NAME.NAMESPACE.svc`), whose name only pods
 * can resolve, such as that of the simulator of the chart. The API server can read it for you.
 */
export function clusterAddressHint(url: string, file: string): string | undefined {
  const { hostname, port, pathname, search, protocol } = new URL(url);
  const [, name, namespace] = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?$/.exec(hostname) ?? [];
  if (name === undefined || protocol !== "http:") return undefined;
  const service = `/api/v1/namespaces/${namespace}/services/${name}:${port || "80"}/proxy${pathname}${search}`;
  return `only pods can resolve this address; the API server can read it: kubectl get --raw '${service}' > ${file}`;
}
