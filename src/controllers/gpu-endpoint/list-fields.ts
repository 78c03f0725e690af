import { DEFAULT_LOCAL_VOLUME_GB, type GpuEndpointSpec } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { EndpointVolume } from "../../provider/types.ts";
import type { EndpointField, LimitedValue } from "./field.ts";

/** The service may show one product, or all of them. */
function productsOf({ productID, details }: EndpointRecord): string[] {
  return [...new Set([productID, ...(details?.products ?? [])])].filter((id) => id !== "");
}

export const products: EndpointField = {
  path: "products",
  optional: false,
  zeroWhenSuspended: false,
  updatable: false,
  build: (desired, { spec }) => ({ ...desired, products: spec.products.map(({ id }) => id) }),
  sent: ({ products }) => products,
  compare(desired, record) {
    const observed = productsOf(record);
    if (observed.every((id) => desired.products.includes(id))) return undefined;
    return { desired: desired.products.join(", "), observed: observed.join(", ") };
  },
  takeOver: (desired) => desired,
  limited: () => [],
  imported: (record) => productsOf(record).map((id) => ({ id })),
};

/** An endpoint has one port. Where the service shows several, an update keeps the first. */
export const port: EndpointField = {
  path: "port",
  optional: false,
  zeroWhenSuspended: false,
  updatable: true,
  build: (desired, { spec }) => ({ ...desired, port: spec.port }),
  sent: ({ port }) => port,
  compare({ port }, { ports }) {
    if (ports.length === 0 || (ports.length === 1 && ports[0] === port)) return undefined;
    return { desired: String(port), observed: ports.join(", ") };
  },
  takeOver: (desired, { ports: [first = desired.port] }) => ({ ...desired, port: first }),
  limited: () => [],
  imported: ({ ports }) => ports[0],
};

const TEXT_LENGTH = 4096;

/** Order has no meaning. A size that this read does not show cannot differ. */
export const volumes: EndpointField = {
  path: "volumes",
  optional: true,
  zeroWhenSuspended: false,
  updatable: true,
  build: (desired, { spec }) => ({ ...desired, volumes: (spec.volumes ?? []).map(desiredVolume) }),
  sent: ({ volumes }) => volumes,
  compare(desired, record) {
    const unsized = new Set(record.volumes.flatMap((one) => (one.sizeGB === undefined ? [one.mountPath] : [])));
    const wanted = desired.volumes.map((volume) =>
      volumeText(volume.type === "local" && unsized.has(volume.mountPath) ? { ...volume, sizeGB: undefined } : volume),
    );
    const texts = { desired: wanted.sort().join("; "), observed: record.volumes.map(volumeText).sort().join("; ") };
    if (texts.desired === texts.observed) return undefined;
    return { desired: texts.desired.slice(0, TEXT_LENGTH), observed: texts.observed.slice(0, TEXT_LENGTH) };
  },
  takeOver: (desired, record) => ({ ...desired, volumes: record.volumes.flatMap(sendableVolume) }),
  limited: (desired) =>
    desired.volumes.flatMap((volume, index): LimitedValue[] => {
      if (volume.type === "network") return [];
      return [{ path: `volumes[${index}].sizeGB`, value: volume.sizeGB, limit: "volumes.sizeGB" }];
    }),
  imported: ({ volumes }) => (volumes.length === 0 ? undefined : volumes.map(importedVolume)),
};

type ShownVolume = EndpointRecord["volumes"][number];
type SpecVolume = NonNullable<GpuEndpointSpec["volumes"]>[number];

function desiredVolume(volume: SpecVolume): EndpointVolume {
  return volume.type === "local" ? { ...volume, sizeGB: volume.sizeGB ?? DEFAULT_LOCAL_VOLUME_GB } : volume;
}

function volumeText(volume: { type: string; id?: string; sizeGB?: number | undefined; mountPath: string }): string {
  if (volume.type === "network") return `network ${volume.id} at ${volume.mountPath}`;
  return `${volume.type} at ${volume.mountPath}${volume.sizeGB === undefined ? "" : ` ${volume.sizeGB} GB`}`;
}

function sendableVolume({ type, id, mountPath, sizeGB = DEFAULT_LOCAL_VOLUME_GB }: ShownVolume): EndpointVolume[] {
  if (type === "network") return [{ type, id, mountPath }];
  return type === "local" ? [{ type, mountPath, sizeGB }] : [];
}

function importedVolume({ type, id, sizeGB, mountPath }: ShownVolume): Record<string, unknown> {
  if (type === "network") return { type, id, mountPath };
  return sizeGB === undefined ? { type, mountPath } : { type, sizeGB, mountPath };
}

/** Order has no meaning. A difference names variables and never shows a value: any of them may be a secret. */
export const env: EndpointField = {
  path: "env",
  optional: true,
  zeroWhenSuspended: false,
  updatable: true,
  build: (desired, { env }) => ({ ...desired, env }),
  // Without the origin of the values.
  sent: (desired) => desired.env.map(({ name, value }) => ({ name, value })),
  compare(desired, record) {
    const wanted = new Map(desired.env.map(({ name, value }) => [name, value]));
    const observed = new Map(record.envs.map(({ key, value }) => [key, value]));
    const names = [...new Set([...wanted.keys(), ...observed.keys()])].sort();
    const differing = names.filter((name) => wanted.get(name) !== observed.get(name));
    if (differing.length === 0) return undefined;
    const text = (values: ReadonlyMap<string, string>) =>
      differing
        .map((name) => (values.has(name) ? `${name}=(hidden)` : `${name} absent`))
        .join(", ")
        .slice(0, TEXT_LENGTH);
    return { desired: text(wanted), observed: text(observed) };
  },
  takeOver: (desired, { envs }) => ({
    ...desired,
    env: envs.map(({ key, value }) => ({ name: key, value, secret: true })),
  }),
  limited: () => [],
  imported: ({ envs }) => (envs.length === 0 ? undefined : envs.map(({ key, value }) => ({ name: key, value }))),
};
