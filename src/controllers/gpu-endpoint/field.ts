import { DEFAULT_LOCAL_VOLUME_GB, type DriftField, type GpuEndpointSpec } from "../../api/v1alpha1/gpu-endpoint.ts";
import type { EndpointRecord } from "../../provider/endpoints/endpoint-record.ts";
import type { LimitName } from "../../provider/endpoints/limits.ts";
import type { EndpointSpec as DesiredEndpoint, EndpointVariable, EndpointVolume } from "../../provider/types.ts";

/** What a desired endpoint is built from. `name` and `appName`: those of an object whose spec has none. */
type DesiredSource = {
  spec: GpuEndpointSpec;
  name: string;
  appName: string;
  /** `spec.env` with its references resolved. */
  env: EndpointVariable[];
};

/** A path that has a value of its own: `workers` and `policy` only group others. */
type FieldPath = Exclude<DriftField, "workers" | "policy">;

/** Two values that differ, as `status.drift` shows them. */
type ValueTexts = { desired: string; observed: string };

/** A number of the spec that has to lie within a limit of the account. */
type LimitedValue = { path: string; value: number; limit: LimitName };

/**
 * One field of a GpuEndpoint. The desired endpoint, drift detection, ignored fields, range checks and import derive from it;
 * the table in the API's documentation has the same rows.
 */
export type EndpointField = {
  path: FieldPath;
  /** Whether a spec may leave it out. Default false. */
  optional?: boolean;
  /** Whether `spec.suspend` sets it to 0, even when `ignoreDrift` names it. Default false. */
  zeroWhenSuspended?: boolean;
  /** The update operation does not send it. Default false. */
  createOnly?: boolean;
  /** Sets the value of the spec, or its default. */
  build(desired: DesiredEndpoint, source: DesiredSource): void;
  /** What is sent. Equal values are sent alike. */
  sent(desired: DesiredEndpoint): unknown;
  /** undefined: the values are equal, or the service does not show the field. */
  compare(desired: DesiredEndpoint, record: EndpointRecord): ValueTexts | undefined;
  /** Sets the value of the remote, unless the service does not show one that can be sent. */
  takeOver(desired: DesiredEndpoint, record: EndpointRecord): void;
  limited?(desired: DesiredEndpoint): LimitedValue[];
  /** The value of the remote as a spec spells it, not validated; undefined: the spec leaves the field out. */
  imported(record: EndpointRecord): unknown;
};

/** Where a desired endpoint holds a value. */
export type Place<Value> = {
  read(desired: DesiredEndpoint): Value;
  /** Changes nothing when the value cannot be sent. */
  write(desired: DesiredEndpoint, value: Value): void;
};

type ScalarField<Value extends string | number> = Pick<
  EndpointField,
  "path" | "optional" | "zeroWhenSuspended" | "createOnly"
> & {
  /** The value of the spec, or its default. */
  wanted(source: DesiredSource): Value;
  place: Place<Value>;
  /** undefined: the service does not show it, so it cannot differ. */
  observed(record: EndpointRecord): Value | undefined;
  limit?(desired: DesiredEndpoint): LimitName;
  /** Default: the observed value. */
  imported?(record: EndpointRecord): unknown;
};

export function scalar<Value extends string | number>(field: ScalarField<Value>): EndpointField {
  const { place, wanted, observed, limit, imported = observed, ...facts } = field;
  return {
    ...facts,
    build: (desired, source) => place.write(desired, wanted(source)),
    sent: place.read,
    compare(desired, record) {
      const value = place.read(desired);
      const shown = observed(record);
      if (shown === undefined || value === shown) return undefined;
      return { desired: String(value), observed: String(shown) };
    },
    takeOver(desired, record) {
      const shown = observed(record);
      if (shown !== undefined && !facts.createOnly) place.write(desired, shown);
    },
    limited(desired) {
      const value = place.read(desired);
      if (limit === undefined || typeof value !== "number") return [];
      return [{ path: facts.path, value, limit: limit(desired) }];
    },
    imported,
  };
}

/** The service may show one product, or all of them. */
function productsOf({ productID, details }: EndpointRecord): string[] {
  return [...new Set([productID, ...(details?.products ?? [])])].filter((id) => id !== "");
}

export const products: EndpointField = {
  path: "products",
  createOnly: true,
  build(desired, { spec }) {
    desired.products = spec.products.map(({ id }) => id);
  },
  sent: ({ products }) => products,
  compare(desired, record) {
    const observed = productsOf(record);
    if (observed.every((id) => desired.products.includes(id))) return undefined;
    return { desired: desired.products.join(", "), observed: observed.join(", ") };
  },
  takeOver() {},
  imported: (record) => productsOf(record).map((id) => ({ id })),
};

/** An endpoint has one port. Where the service shows several, an update keeps the first. */
export const port: EndpointField = {
  path: "port",
  build(desired, { spec }) {
    desired.port = spec.port;
  },
  sent: ({ port }) => port,
  compare({ port }, { ports }) {
    if (ports.length === 0 || (ports.length === 1 && ports[0] === port)) return undefined;
    return { desired: String(port), observed: ports.join(", ") };
  },
  takeOver(desired, { ports: [first = desired.port] }) {
    desired.port = first;
  },
  imported: ({ ports }) => ports[0],
};

const TEXT_LENGTH = 4096;

/** Order has no meaning. A size that this read does not show cannot differ. */
export const volumes: EndpointField = {
  path: "volumes",
  optional: true,
  build(desired, { spec }) {
    desired.volumes = (spec.volumes ?? []).map(desiredVolume);
  },
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
  takeOver(desired, record) {
    desired.volumes = record.volumes.flatMap(sendableVolume);
  },
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
  build(desired, { env }) {
    desired.env = env;
  },
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
  takeOver(desired, { envs }) {
    desired.env = envs.map(({ key, value }) => ({ name: key, value, secret: true }));
  },
  imported: ({ envs }) => (envs.length === 0 ? undefined : envs.map(({ key, value }) => ({ name: key, value }))),
};
