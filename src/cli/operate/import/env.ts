import { createHash } from "node:crypto";
import type { EndpointEnv } from "../../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../../provider/endpoints/endpoint-record.ts";

/**
 * Where the values of the environment go, any of which may be a secret. `secret`: into a Secret next to the manifest.
 * `inline`: into the manifest. `omit`: they stay at the service, and Mooring does not change them.
 */
export const envModes = ["secret", "inline", "omit"] as const;
export type EnvMode = (typeof envModes)[number];

/** The most that a Secret can hold (Kubernetes: MaxSecretSize). */
export const MAX_SECRET_BYTES = 1024 * 1024;

/** Variables that refer to a Secret `secretName`, and the Secret's `data` (base64, by key). */
export function envFromSecret(
  envs: EndpointRecord["envs"],
  secretName: string,
): { env: EndpointEnv[]; data: Record<string, string>; bytes: number } {
  const data = new Map<string, string>();
  let bytes = 0;
  const env = envs.map(({ key: name, value }): EndpointEnv => {
    const key = freeKey(name, data);
    const content = Buffer.from(value, "utf8");
    data.set(key, content.toString("base64"));
    bytes += content.length;
    return { name, valueFrom: { secretKeyRef: { name: secretName, key } } };
  });
  return { env, data: Object.fromEntries(data), bytes };
}

/** The name of the variable where it is a valid key of a Secret, else its valid characters with a hash of the name. */
function freeKey(name: string, taken: ReadonlyMap<string, string>): string {
  if (/^[-_a-zA-Z0-9][-._a-zA-Z0-9]{0,252}$/.test(name) && !taken.has(name)) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 10);
  return `${name.replaceAll(/[^-_a-zA-Z0-9]+/g, "_").slice(0, 200)}-${hash}`;
}
