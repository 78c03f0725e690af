/** Nearly all objects of a cluster use the same service. */
let latest = { baseURL: "", address: "" };

/**
 * A base URL in the one form in which base URLs are compared: lower-case host, no default port, no dot segments, no trailing
 * slash. A text that is no URL is not changed.
 */
export function serviceAddress(baseURL: string): string {
  if (baseURL === latest.baseURL) return latest.address;
  const url = URL.parse(baseURL);
  const address = url === null ? baseURL : `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  latest = { baseURL, address };
  return address;
}

export function isSameService(one: string, other: string): boolean {
  return serviceAddress(one) === serviceAddress(other);
}
