import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { SECRET } from "../support/callbacks.ts";
import { manifest } from "../support/manifests.ts";
import { createWorld, eventually, type Operator, type World, waitForCondition } from "../support/world.ts";

let world: World;
let operator: Operator;
beforeAll(async () => {
  world = await createWorld("callbacks");
  await world.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "hook" },
    stringData: { secret: SECRET },
  });
  operator = await world.startOperator();
});

type Received = { headers: Record<string, string>; body: string };

/** A receiver on this machine. */
async function receiver(status: () => number): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    received.push({ headers, body: Buffer.concat(chunks).toString("utf8") });
    response.writeHead(status()).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ended`, received };
}

const job = (name: string, url: string, change: object = {}) =>
  manifest(
    "hd",
    { text: `about ${name}`, callback: { url, secretRef: { name: "hook", key: "secret" } }, ...change },
    name,
  );

describe("the callback of a job", () => {
  it("is signed, as a library of Standard Webhooks checks, and shown as delivered", async () => {
    const { url, received } = await receiver(() => 204);
    await world.apply(job("signed", url));
    const done = await eventually("the callback is delivered", async () => {
      const found = await world.get("SpeechJob", "signed");
      return (found.status?.["callback"] as { state?: string } | undefined)?.state === "Delivered" && found;
    });
    expect(received).toHaveLength(1);
    const [{ headers, body } = { headers: {}, body: "" }] = received;
    expect(new Webhook(SECRET).verify(body, headers)).toMatchObject({
      type: "dev.mooring.job.succeeded",
      data: { name: "signed", namespace: world.namespace, phase: "Succeeded", results: done.status?.["results"] },
    });
  });

  it("reaches a receiver that fails while the operator is killed, and the job is complete before", async () => {
    let isUp = false;
    const { url, received } = await receiver(() => (isUp ? 200 : 503));
    await world.apply(job("patient", url, { ttlSecondsAfterFinished: 0 }));
    await waitForCondition(world, "SpeechJob", "patient", "Complete");
    await eventually("the first attempt has failed", async () => {
      const { status } = await world.get("SpeechJob", "patient");
      return (status?.["callback"] as { attempts?: number } | undefined)?.attempts === 1;
    });
    await operator.kill();
    isUp = true;
    operator = await world.startOperator();
    await eventually("the callback is delivered, and the job deleted", async () => {
      const jobs = await world.list("SpeechJob");
      return !jobs.some(({ metadata }) => metadata.name === "patient");
    });
    expect(received.length).toBeGreaterThan(1);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  });
});
