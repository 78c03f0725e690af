import * as z from "zod";
import { ENDPOINT_ID, MOST } from "./bounds.ts";
import {
  identifier,
  lenientBoolean,
  lenientList,
  lenientNumber,
  lenientObject,
  lenientText,
  lenientValues,
  pageList,
} from "./lenient.ts";

/** Endpoints, current generation (interface: paths under /gpus/v2). */

export const statusV2 = z.looseObject({ status: lenientText, error: lenientText, message: lenientText });

export const endpointV2 = z.looseObject({
  id: identifier(ENDPOINT_ID),
  type: lenientText,
  name: lenientText,
  app_name: lenientText,
  status: lenientObject(statusV2),
  url: lenientText,
  product_id: lenientText,
  worker_config: lenientObject(
    z.looseObject({
      max_replicas: lenientNumber,
      min_replicas: lenientNumber,
      idle_timeout: lenientNumber,
      max_concurrent_per_worker: lenientNumber,
      gpu_num: lenientNumber,
      rootfs_size_gb: lenientNumber,
      min_cuda_version: lenientText,
      request_timeout: lenientNumber,
    }),
  ),
  policy: lenientObject(z.looseObject({ type: lenientText, value: lenientNumber })),
  image: lenientText,
  registry_auth_id: lenientText,
  entrypoint: lenientText,
  command: lenientText,
  volumes: lenientList(
    z.looseObject({ id: lenientText, type: lenientText, size: lenientNumber, mount_point: lenientText }),
    MOST.volumes,
  ),
  envs: lenientList(z.looseObject({ key: lenientText, value: lenientText }), MOST.variables),
  ports: lenientValues(lenientNumber, MOST.ports),
  workers: lenientList(
    z.looseObject({
      id: lenientText,
      status: lenientObject(statusV2),
      log: lenientText,
      health: lenientBoolean,
      drain: lenientBoolean,
    }),
    MOST.workers,
  ),
  health_check: lenientObject(z.looseObject({ path: lenientText, port: lenientNumber })),
  region_id: lenientText,
  member_id: lenientText,
  owner_id: lenientText,
  created_at: lenientNumber,
});
export type EndpointV2 = z.output<typeof endpointV2>;

/** A page of the list. `record` reads one endpoint of it. */
export const endpointPageOf = <S extends z.ZodType>(record: S) =>
  z.looseObject({ data: pageList(record), next_cursor: lenientText, has_more: lenientBoolean });
