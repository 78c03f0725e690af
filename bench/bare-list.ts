import { Client } from "undici";
import { gpuEndpointResource, speechJobResource } from "../src/api/v1alpha1/kinds.ts";
import { resourcePath } from "../src/kube/resource.ts";
import { targetOf } from "../tools/cluster/credentials.ts";
import type { ClusterAccess } from "./cluster.ts";

const QUERY = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const END = "k8s.io/initial-events-end";

/**
 * How long the API server takes to stream all GpuEndpoints and SpeechJobs, as Mooring lists them at its start, to a program that drops them.
 * So it is a limit for every operator.
 */
export async function timeBareList({ controlPlane }: ClusterAccess, signal: AbortSignal): Promise<number> {
  const { url, ca, headers } = await targetOf(controlPlane.kubeconfig);
  const { Authorization } = await headers();
  const began = performance.now();
  await Promise.all(
    [gpuEndpointResource, speechJobResource].map(async (resource) => {
      const client = new Client(url, { connect: { ca } });
      try {
        const path = `${resourcePath(resource)}?${QUERY}`;
        const { body } = await client.request({
          method: "GET",
          path,
          headers: { Authorization, accept: "application/json" },
          signal,
        });
        await untilEnd(body);
      } finally {
        await client.destroy();
      }
    }),
  );
  return (performance.now() - began) / 1_000;
}

/** Until the bookmark that ends a streamed list. It is the last line, so it is looked for in the last bytes alone. */
async function untilEnd(body: AsyncIterable<Buffer>): Promise<void> {
  let last = Buffer.alloc(0);
  for await (const chunk of body) {
    last = Buffer.concat([last, chunk]).subarray(-4_096);
    if (last.includes(END)) return;
  }
  throw new Error("the API server ended the watch before the end of its list");
}
