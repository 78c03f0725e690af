/**
 * A base URL in the one form in which base URLs are compared: lower-case host, no default port, no dot segments, no trailing
 * slash. A text that is no URL is not changed.
 */
export function serviceAddress(baseURL: string): string {
  const url = URL.parse(baseURL);
  return url === null ? baseURL : `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

export function isSameService(one: string, other: string): boolean {
  return serviceAddress(one) === serviceAddress(other);
}
