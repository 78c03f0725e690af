import { type EndpointWorker, SHOWN_WORKERS } from "../../api/v1alpha1/gpu-endpoint-status.ts";
import type { EndpointRecord, RemoteStatus } from "../../provider/endpoints/endpoint-record.ts";

/** The service's texts, unless they are empty. */
export function shortStatus({ status, error, message }: RemoteStatus): {
  status: string;
  error?: string;
  message?: string;
} {
  return { status, ...(error === "" ? {} : { error }), ...(message === "" ? {} : { message }) };
}

/**
 * The first workers by identifier: the service shows them in any order. An address of a log that differs in its query alone is signed
 * anew by each read, which is no reason for a write.
 */
export function workerItems({ workers }: EndpointRecord, before: EndpointWorker[] = []): { items?: EndpointWorker[] } {
  if (workers.length === 0) return {};
  const sorted = workers.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, SHOWN_WORKERS);
  const items = sorted.map(({ id, status, healthy, draining, log }): EndpointWorker => {
    const known = before.find((worker) => worker.id === id)?.log;
    const same = known !== undefined && withoutQuery(known) === withoutQuery(log);
    return {
      id,
      ...shortStatus(status),
      ...(healthy === undefined ? {} : { healthy }),
      ...(draining === undefined ? {} : { draining }),
      ...(log === "" ? {} : { log: same ? known : log }),
    };
  });
  return { items };
}

const withoutQuery = (url: string) => url.split("?", 1)[0];
