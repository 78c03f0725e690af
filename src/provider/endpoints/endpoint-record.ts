import { isRecord } from "../../base/own-value.ts";
import { plainText, type Sanitizer } from "../../base/sanitizer.ts";
import { ENDPOINT_ID, ENDPOINT_URL, MOST, TEXT, unixSeconds } from "../wire/bounds.ts";
import {
  type Fields,
  fieldsOf,
  identifier,
  records,
  toBoolean,
  toFields,
  toNumber,
  toText,
  values,
} from "../wire/lenient.ts";

export type RemoteStatus = { status: string; error: string; message: string };

/**
 * An endpoint as the service shows it, in one shape for both generations. An absent string is "", an absent list is [],
 * an absent number is undefined. Values of enumerations are the service's own words.
 *
 * Texts that only describe the endpoint are sanitized. Values that are compared with a spec are exact (name, appName, image,
 * command, envs and the like): sanitize them before they are shown.
 */
export type EndpointRecord = {
  id: string;
  /** `sync` or `async`; "" where the service does not show it. */
  type: string;
  name: string;
  appName: string;
  status: RemoteStatus;
  url: string;
  productID: string;
  workers: {
    id: string;
    status: RemoteStatus;
    log: string;
    /** undefined where the service does not show it. */
    healthy: boolean | undefined;
    draining: boolean | undefined;
  }[];
  /** How many workers run, and what each of them takes. */
  scaling: {
    min: number | undefined;
    max: number | undefined;
    idleTimeout: number | undefined;
    maxConcurrency: number | undefined;
    gpus: number | undefined;
    requestTimeout: number | undefined;
    minCudaVersion: string;
  };
  rootfsSizeGB: number | undefined;
  policy: { type: string; value: number | undefined };
  image: string;
  registryAuthID: string;
  entrypoint: string;
  command: string;
  volumes: { type: string; id: string; sizeGB: number | undefined; mountPath: string }[];
  envs: { key: string; value: string }[];
  ports: number[];
  healthCheck: { path: string; port: number | undefined };
  regionID: string;
  memberID: string;
  ownerID: string;
  /** Unix seconds; undefined where the service does not show it. */
  createdAt: number | undefined;
  /** Fields that only one of the two generations shows (`Endpoints.complete`); undefined until they are read. */
  details?: {
    /** Cluster of the network storage; "" where none is mounted. */
    clusterID: string;
    /** Every product of the endpoint; `productID` is the first. */
    products: string[];
    log: string;
    health: {
      initialDelay: number | undefined;
      period: number | undefined;
      timeout: number | undefined;
      successThreshold: number | undefined;
      failureThreshold: number | undefined;
    };
  };
};

type Read = (value: unknown, most: number) => string;

/** Texts that are only shown. */
const shownBy =
  (sanitize: Sanitizer): Read =>
  (value, most) =>
    sanitize(toText(value), most);

function statusOf(status: unknown, error: unknown, message: unknown, shown: Read): RemoteStatus {
  return { status: shown(status, TEXT.state), error: shown(error, TEXT.error), message: shown(message, TEXT.message) };
}

const isNumber = (value: number | undefined): value is number => value !== undefined;

/** A copy without the room for 17 elements that `filter` leaves: there is one for each endpoint. */
const portsOf = (fields: Fields, portOf: (value: unknown) => number | undefined): number[] =>
  values(fields, "ports", MOST.ports).map(portOf).filter(isNumber).slice();

const envsOf = (fields: Fields) =>
  records(fields, "envs", MOST.variables).map(({ key, value }) => ({ key: toText(key), value: toText(value) }));

function policyOf({ policy }: Fields): EndpointRecord["policy"] {
  const { type, value } = toFields(policy);
  return { type: toText(type), value: toNumber(value) };
}

function volumesOf(volumes: readonly Fields[], mountPath: string): EndpointRecord["volumes"] {
  return volumes.map(({ type, id, size, [mountPath]: path }) => {
    return { type: toText(type), id: toText(id), sizeGB: toNumber(size), mountPath: toText(path) };
  });
}

/** Of the current generation (interface: paths under /gpus/v2). @throws UnusableError */
export function fromCurrent(value: unknown, sanitize: Sanitizer = plainText): EndpointRecord {
  const wire = fieldsOf(value);
  const config = toFields(wire["worker_config"]);
  const health = toFields(wire["health_check"]);
  const shown = shownBy(sanitize);
  const status = (of: unknown) => {
    const { status, error, message } = toFields(of);
    return statusOf(status, error, message, shown);
  };
  return {
    id: identifier(wire, "id", ENDPOINT_ID),
    type: shown(wire["type"], TEXT.word),
    name: toText(wire["name"]),
    appName: toText(wire["app_name"]),
    status: status(wire["status"]),
    url: shown(wire["url"], ENDPOINT_URL),
    productID: shown(wire["product_id"], TEXT.name),
    workers: records(wire, "workers", MOST.workers).map((worker) => ({
      id: shown(worker["id"], TEXT.name),
      status: status(worker["status"]),
      log: shown(worker["log"], ENDPOINT_URL),
      healthy: toBoolean(worker["health"]),
      draining: toBoolean(worker["drain"]),
    })),
    scaling: {
      min: toNumber(config["min_replicas"]),
      max: toNumber(config["max_replicas"]),
      idleTimeout: toNumber(config["idle_timeout"]),
      maxConcurrency: toNumber(config["max_concurrent_per_worker"]),
      gpus: toNumber(config["gpu_num"]),
      requestTimeout: toNumber(config["request_timeout"]),
      minCudaVersion: toText(config["min_cuda_version"]),
    },
    rootfsSizeGB: toNumber(config["rootfs_size_gb"]),
    policy: policyOf(wire),
    image: toText(wire["image"]),
    registryAuthID: toText(wire["registry_auth_id"]),
    entrypoint: toText(wire["entrypoint"]),
    command: toText(wire["command"]),
    volumes: volumesOf(records(wire, "volumes", MOST.volumes), "mount_point"),
    envs: envsOf(wire),
    ports: portsOf(wire, toNumber),
    healthCheck: { path: toText(health["path"]), port: toNumber(health["port"]) },
    regionID: shown(wire["region_id"], TEXT.name),
    memberID: shown(wire["member_id"], TEXT.name),
    ownerID: shown(wire["owner_id"], TEXT.name),
    createdAt: unixSeconds(toNumber(wire["created_at"])),
  };
}

/** Of the earlier generation (interface: paths under /gpu-instance/openapi/v1). @throws UnusableError */
export function fromEarlier(value: unknown, sanitize: Sanitizer = plainText): EndpointRecord {
  const wire = fieldsOf(value);
  const config = toFields(wire["workerConfig"]);
  const image = toFields(wire["image"]);
  const health = toFields(wire["healthy"]);
  const shown = shownBy(sanitize);
  const status = (of: unknown) => {
    const { state, error, message } = toFields(of);
    return statusOf(state, error, message, shown);
  };
  const products = records(wire, "products", MOST.products).map(({ id }) => shown(id, TEXT.name));
  return {
    id: identifier(wire, "id", ENDPOINT_ID),
    type: "",
    name: toText(wire["name"]),
    appName: toText(wire["appName"]),
    status: status(wire["state"]),
    url: shown(wire["url"], ENDPOINT_URL),
    productID: products[0] ?? "",
    workers: records(wire, "workers", MOST.workers).map((worker) => ({
      id: shown(worker["id"], TEXT.name),
      status: status(worker["state"]),
      log: shown(worker["log"], ENDPOINT_URL),
      healthy: toBoolean(worker["healthy"]),
      draining: undefined,
    })),
    scaling: {
      min: toNumber(config["minNum"]),
      max: toNumber(config["maxNum"]),
      idleTimeout: toNumber(config["freeTimeout"]),
      maxConcurrency: toNumber(config["maxConcurrent"]),
      gpus: toNumber(config["gpuNum"]),
      requestTimeout: toNumber(config["requestTimeout"]),
      minCudaVersion: toText(config["cudaVersion"]),
    },
    rootfsSizeGB: toNumber(wire["rootfsSize"]),
    policy: policyOf(wire),
    image: toText(image["image"]),
    registryAuthID: toText(image["authId"]),
    entrypoint: "",
    command: toText(image["command"]),
    volumes: volumesOf(records(wire, "volumeMounts", MOST.volumes), "mountPath"),
    envs: envsOf(wire),
    ports: portsOf(wire, earlierPort),
    healthCheck: { path: toText(health["path"]), port: undefined },
    regionID: "",
    memberID: "",
    ownerID: "",
    createdAt: undefined,
    details: {
      clusterID: toText(wire["clusterID"]),
      products: products.filter((id) => id !== ""),
      log: shown(wire["log"], ENDPOINT_URL),
      health: {
        initialDelay: toNumber(health["initialDelay"]),
        period: toNumber(health["period"]),
        timeout: toNumber(health["timeout"]),
        successThreshold: toNumber(health["successThreshold"]),
        failureThreshold: toNumber(health["failureThreshold"]),
      },
    },
  };
}

/** `{port: "8080"}` in the list, `{port: 8080}` in the detail, and a bare number. */
const earlierPort = (value: unknown) => toNumber(isRecord(value) ? value["port"] : value);

/**
 * Adds to a record of the current generation what only the earlier generation shows of the same endpoint: the cluster of
 * its storage, all products, and the sizes of local volumes that a single read leaves out.
 */
export function withDetails(record: EndpointRecord, detailed: EndpointRecord): EndpointRecord {
  const sizes = new Map(detailed.volumes.map(({ type, mountPath, sizeGB }) => [`${type} ${mountPath}`, sizeGB]));
  return {
    ...record,
    volumes: record.volumes.map((volume) => ({
      ...volume,
      sizeGB: volume.sizeGB ?? sizes.get(`${volume.type} ${volume.mountPath}`),
    })),
    ...(detailed.details === undefined ? {} : { details: detailed.details }),
  };
}

/** Bytes that an element of a record takes, beside its texts. */
const ELEMENT_BYTES = 100;
const RECORD_BYTES = 500;

/** About how much memory a record takes, in bytes. */
export function weightOf({ workers, volumes, envs, ports, details, ...record }: EndpointRecord): number {
  const texts = [record.id, record.name, record.appName, record.image, record.entrypoint, record.command, record.url];
  const { status, error, message } = record.status;
  const elements = workers.length + volumes.length + envs.length + ports.length + (details?.products.length ?? 0);
  return (
    RECORD_BYTES +
    elements * ELEMENT_BYTES +
    lengthOf([...texts, record.productID, record.registryAuthID, record.healthCheck.path, status, error, message]) +
    envs.reduce((sum, { key, value }) => sum + key.length + value.length, 0) +
    volumes.reduce((sum, { id, mountPath }) => sum + id.length + mountPath.length, 0) +
    workers.reduce((sum, { log, status }) => sum + log.length + status.error.length + status.message.length, 0) +
    lengthOf(details?.products ?? []) +
    lengthOf([details?.clusterID ?? "", details?.log ?? ""])
  );
}

const lengthOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);
