import { mediaTypeOf } from "./media-type.ts";
import { rowOf, textOf } from "./row.ts";
import type { UiObject } from "./ui-object.ts";
import type { ResultView, VersionView } from "./view-types.ts";

/** Other jobs with the same text that the page shows beside a job. */
const MAX_VERSIONS = 5;

export function resultsOf(kind: string, { metadata, status }: UiObject): ResultView[] {
  const path = [kind, metadata.namespace ?? "", metadata.name].map(encodeURIComponent).join("/");
  return (status?.results ?? []).map(({ artifact, url, address, type = "", expiresAt, ...result }, index) => ({
    kind: result.kind,
    type: mediaTypeOf(type),
    location: artifact?.uri ?? withoutQuery(url ?? address ?? ""),
    copied: artifact !== undefined,
    expiresAt: artifact === undefined ? expiresAt : undefined,
    bytes: artifact?.bytes,
    media: artifact === undefined && url === undefined ? undefined : `media/${path}/${index}`,
    file: `${metadata.name}-${index}.${/^[a-z0-9]{1,16}$/i.test(type) ? type : "bin"}`,
  }));
}

/** Jobs of the same namespace with the same text or prompt, newest first: other voices, models or settings. */
export function versionsOf(kind: string, object: UiObject, others: Iterable<UiObject>): VersionView[] {
  const text = textOf(object);
  if (text === undefined) return [];
  const same: UiObject[] = [];
  for (const other of others) {
    const isOther =
      other.metadata.uid !== object.metadata.uid && other.metadata.namespace === object.metadata.namespace;
    if (isOther && textOf(other) === text) same.push(other);
  }
  const created = ({ metadata }: UiObject) => Date.parse(metadata.creationTimestamp);
  return same
    .sort((a, b) => created(b) - created(a))
    .slice(0, MAX_VERSIONS)
    .map((other) => ({ row: rowOf(kind, other), results: resultsOf(kind, other) }));
}

/** A signed URL gives access to the result. So the page shows its host and path only. */
export function withoutQuery(url: string): string {
  const [path = "", ...query] = url.split("?");
  return query.length === 0 ? path : `${path}?(hidden)`;
}
