import { readFile } from "node:fs/promises";
import { Client } from "undici";
import { parse } from "yaml";
import { gpuEndpointResource, speechJobResource } from "../src/api/v1alpha1/kinds.ts";
import { resourcePath } from "../src/kube/resource.ts";
import type { ClusterAccess } from "./cluster.ts";

type Kubeconfig = {
  clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
  users: [{ user: { token: string } }];
};

const QUERY = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
const END = "k8s.io/initial-events-end";

/**
 * How long the API server takes to stream all GpuEndpoints and SpeechJobs, as Mooring lists them at its start, to a program that drops them.
 * So it is a limit for every operator.
 */
export async function timeBareList({ controlPlane }: ClusterAccess, signal: AbortSignal): Promise<number> {
  const { clusters, users }: Kubeconfig = parse(await readFile(controlPlane.kubeconfig, "utf8"));
  const { server, "certificate-authority-data": authority } = clusters[0].cluster;
  const ca = Buffer.from(authority, "base64").toString();
  const began = performance.now();
  await Promise.all(
    [gpuEndpointResource, speechJobResource].map(async (resource) => {
      const client = new Client(server, { connect: { ca } });
      try {
        const headers = { authorization: `Bearer ${users[0].user.token}`, accept: "application/json" };
        const path = `${resourcePath(resource)}?${QUERY}`;
        const { body } = await client.request({ method: "GET", path, headers, signal });
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
