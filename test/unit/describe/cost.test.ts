import { describe, expect, it, test } from "vitest";
import { readerWithout, StalledError } from "../../../src/controllers/references.ts";
import { costOfEndpoint, costOfJob, type ReadableAccount } from "../../../src/describe/cost.ts";
import { endpointOf } from "../../support/endpoints.ts";
import { speechJobOf, videoJobOf } from "../../support/jobs.ts";

const asOf = "2026-03-01T00:00:00Z";
const account: ReadableAccount = {
  spec: { speech: { maxCharacters: 1_000 } },
  status: {
    prices: [
      { name: "speech-2.6-hd", unit: "ThousandCharacters", price: "0.35", asOf },
      { name: "vid-i2v", unit: "Second", price: "0.2", asOf },
    ],
  },
};
const missing = new StalledError("SecretNotFound", "no");
const reader = { ...readerWithout(missing), configMapKey: async () => "x".repeat(400) };

describe("what mooring plan shows that a job costs", () => {
  test.each([
    { name: "its characters at the last known price", job: speechJobOf("hd", { text: "x".repeat(200) }), cost: "0.07" },
    {
      name: "the text of its ConfigMap",
      job: speechJobOf("hd", { text: null, textFrom: { configMapKeyRef: { name: "a", key: "b" } } }),
      cost: "0.14",
    },
    { name: "its seconds", job: videoJobOf("image"), cost: "1" },
    { name: "nothing while its price is not known", job: speechJobOf("turbo"), cost: undefined },
    {
      name: "nothing when you may not read its text",
      job: speechJobOf("hd", { text: null, textFrom: { secretKeyRef: { name: "a", key: "b" } } }),
      cost: undefined,
    },
  ])("$name", async ({ job, cost }) => {
    expect((await costOfJob(job, account, reader))?.estimatedCost).toBe(cost);
  });

  it("nothing when you may not read the account", async () => {
    expect(await costOfJob(videoJobOf("image"), undefined, reader)).toBeUndefined();
  });

  it("a text that is too long is a conflict", async () => {
    await expect(costOfJob(speechJobOf("hd", { text: "x".repeat(1_001) }), account, reader)).rejects.toThrow("1001");
  });
});

it("mooring plan shows what an hour of all workers of an endpoint costs", () => {
  const endpoint = endpointOf({ products: [{ id: "gpu" }], workers: { max: 4, gpus: 2 } });
  const priced = {
    spec: { speech: { maxCharacters: 1 } },
    status: { prices: [{ name: "gpu", unit: "CardHour" as const, price: "1.5", asOf }] },
  };
  expect(costOfEndpoint(endpoint, priced)).toEqual({ estimatedCost: "12", per: "Hour" });
  expect(costOfEndpoint(endpoint, account)).toBeUndefined();
  expect(costOfEndpoint({ ...endpoint, spec: { ...endpoint.spec, suspend: true } }, priced)?.estimatedCost).toBe("0");
});
