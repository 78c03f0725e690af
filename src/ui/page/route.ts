import { useSyncExternalStore } from "preact/compat";

/** A view with its parameters, in the fragment of the address: `#/jobs?state=Running`. */
export type ViewRoute = { path: string[]; query: URLSearchParams };

export function parseRoute(hash: string): ViewRoute {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decodeURIComponent), query: new URLSearchParams(query) };
}

export function useRoute(): ViewRoute {
  return parseRoute(useSyncExternalStore(onHashChange, () => window.location.hash));
}

function onHashChange(listener: () => void): () => void {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

/** As `withQuery`, of the view that the address shows now: what is drawn can be older. */
export const currentWithQuery = (changes: Record<string, string>): string =>
  withQuery(parseRoute(window.location.hash), changes);

/** The address of the same view with other parameters; an empty value removes one. */
export function withQuery({ path, query }: ViewRoute, changes: Record<string, string>): string {
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === "") next.delete(key);
    else next.set(key, value);
  }
  const text = next.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}
