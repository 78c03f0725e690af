import type { EndpointSpec } from "../types.ts";

/** Parameters that create and update share (interface: both operations). */
function parameters(spec: EndpointSpec) {
  const { workers } = spec;
  return {
    name: spec.name,
    workerConfig: {
      minNum: workers.min,
      maxNum: workers.max,
      freeTimeout: workers.idleTimeoutSeconds,
      maxConcurrent: workers.maxConcurrency,
      gpuNum: workers.gpus,
      requestTimeout: workers.requestTimeoutSeconds,
    },
    ports: [{ port: String(spec.port) }],
    policy: { type: spec.policy.type, value: spec.policy.value },
    image: {
      image: spec.image,
      ...(spec.registryAuthID === "" ? {} : { authId: spec.registryAuthID }),
      ...(spec.command === "" ? {} : { command: spec.command }),
    },
    volumeMounts: spec.volumes.map((volume) =>
      volume.type === "network"
        ? { type: volume.type, id: volume.id, mountPath: volume.mountPath }
        : { type: volume.type, size: volume.sizeGB, mountPath: volume.mountPath },
    ),
    ...(spec.clusterID === "" ? {} : { clusterID: spec.clusterID }),
    envs: spec.env.map(({ name, value }) => ({ key: name, value })),
    healthy: { path: spec.healthPath },
  };
}

export function createBody(spec: EndpointSpec) {
  return {
    ...parameters(spec),
    appName: spec.appName,
    products: spec.products.map((id) => ({ id })),
    rootfsSize: spec.rootfsSizeGB,
  };
}

/** An update replaces every parameter (interface: "All parameters must be passed in full"). */
export function updateBody(id: string, spec: EndpointSpec) {
  return { id, ...parameters(spec) };
}

/** Values that no error shows, in case the service quotes the request. */
export function hiddenValues({ env }: EndpointSpec): string[] {
  return env.filter(({ secret }) => secret).map(({ value }) => value);
}
