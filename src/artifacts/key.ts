import { ArtifactError } from "./errors.ts";

export type ArtifactPlace = {
  /** `spec.output.prefix`: relative. */
  prefix?: string | undefined;
  namespace: string;
  /** Kind of the object that the artifact belongs to. */
  kind: string;
  name: string;
  uid: string;
  /** Index of the artifact among those of the object, from 0. */
  index: number;
  /** What the service calls the type: `mp4`, `mp3`. */
  type: string;
};

/** `[PREFIX/]NAMESPACE/KIND/NAME/UID/N.TYPE`: the key of a copy in a store (docs/how-to/artifacts.md). */
export function artifactKey({ prefix, namespace, kind, name, uid, index, type }: ArtifactPlace): string {
  return joinKey(prefix, `${namespace}/${kind}/${name}/${uid}/${index}.${extension(type)}`);
}

/** `[PREFIX/]NAME.TYPE`, and `[PREFIX/]NAME-N.TYPE` after the first artifact: the key of a copy whose name was chosen. */
export function namedKey(prefix: string | undefined, name: string, index: number, type: string): string {
  return joinKey(prefix, `${name}${index === 0 ? "" : `-${index}`}.${extension(type)}`);
}

/** Characters. */
export const LONGEST_EXTENSION = 16;

/** A remote's type may be anything; only what is a plain file extension becomes one. */
function extension(type: string): string {
  const plain = type.toLowerCase().replace(/^\./, "");
  return /^[a-z0-9]+$/.test(plain) && plain.length <= LONGEST_EXTENSION ? plain : "bin";
}

/** Both parts with one '/' between; empty segments are dropped. */
export function joinKey(prefix: string | undefined, key: string): string {
  return [...(prefix ?? "").split("/"), ...key.split("/")].filter((segment) => segment !== "").join("/");
}

/** Longest key of S3 in bytes of UTF-8. */
const KEY_BYTES = 1024;

/**
 * Checks that a key stays inside its store.
 * @throws ArtifactError InvalidKey for an absolute key, `.`, `..`, empty segments, backslashes, control characters or more than 1024 bytes
 */
export function checkKey(key: string): string {
  const segments = key.split("/");
  const bad =
    Buffer.byteLength(key) > KEY_BYTES ||
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is refused
    /[\\\u0000-\u001f\u007f]/.test(key) ||
    segments.some(
      (segment) => segment === "" || segment === "." || segment === ".." || Buffer.byteLength(segment) > 255,
    );
  if (!bad) return key;
  const shown = JSON.stringify(key.slice(0, 200));
  throw new ArtifactError(
    "InvalidKey",
    `key ${shown} is not a relative path of at most ${KEY_BYTES} bytes without '..'`,
  );
}
