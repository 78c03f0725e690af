import { describe, expect, it } from "vitest";
import { gpuEndpointResource } from "../../../../src/api/v1alpha1/kinds.ts";
import { boundTo } from "../../../../src/controllers/account/registry.ts";
import { createKind } from "../../../../src/controllers/controller-deps.ts";
import { createEndpoint, intendCreate, shownIntent } from "../../../../src/controllers/gpu-endpoint/creates.ts";
import { createStore } from "../../../../src/runtime/store.ts";
import { desiredOf, endpointOf } from "../../../support/endpoints.ts";
import { createObjectStore } from "../../../support/object-store.ts";
import { scriptedApi, silentLog } from "../../../support/scripted-api-server.ts";
import { accountAt, scriptedService } from "../../../support/service-account.ts";
import { sharedOf } from "../../../support/shared.ts";

const TIME = "2026-03-01T00:00:00Z";
const context = { signal: new AbortController().signal, log: silentLog };

/** An endpoint whose create is about to be sent; `onCommit` runs while its intent is written to the journal. */
async function setUp(onCommit: (during: { remove(): void; rotateKey(): void }) => void = () => {}) {
  const endpoint = endpointOf();
  const kind = { resource: gpuEndpointResource, store: createStore<typeof endpoint>() };
  kind.store.upsert(endpoint);
  const objects = createObjectStore();
  const api = await scriptedApi((request) => {
    const rotateKey = () => account.keyChanged();
    if (request.method === "PUT") onCommit({ remove: () => kind.store.remove(endpoint), rotateKey });
    return objects.script(request);
  });
  const service = await scriptedService(() => ({ body: { id: "ep-1" } }));
  const shared = sharedOf(api.client, gpuEndpointResource);
  await shared.journal.open(context.signal);
  const account = accountAt(service.url);
  const desired = desiredOf(endpoint);
  const intent = intendCreate(endpoint, desired, account, shared);
  const create = () =>
    createEndpoint({ shared, account, kind: createKind(api.client, kind), endpoint, context }, desired, intent);
  return { create, service, journal: shared.journal };
}

it("a create stays in the journal, with its endpoint, until the status has it", async () => {
  const { create, journal } = await setUp();
  expect(await create()).toMatchObject({ endpointID: "ep-1", submission: { attempt: 1, state: "Accepted" } });
  expect(journal.entries()).toMatchObject([
    { kind: "GpuEndpoint", key: "team/echo", operation: "createEndpoint", outcome: { endpointID: "ep-1" } },
  ]);
});

it("an endpoint that is deleted while its intent is committed is not created", async () => {
  const { create, service, journal } = await setUp(({ remove }) => remove());
  await expect(create()).rejects.toThrow("GpuEndpoint team/echo was deleted before its request was sent");
  expect([service.requests, journal.entries()]).toEqual([[], []]);
});

it("a create is not sent when the API key changes while its intent is committed", async () => {
  const { create, service, journal } = await setUp(({ rotateKey }) => rotateKey());
  await expect(create()).rejects.toThrow(
    "the API key of Account/team/default changed before the create was sent: nothing is sent",
  );
  expect([service.requests, journal.entries()]).toEqual([[], []]);
});

describe("an intent that the status shows", () => {
  const journal = { covers: () => true };
  it.each([
    { key: "the current key", keyVersion: "current", sent: true },
    { key: "a former key", keyVersion: "former", sent: false },
    { key: "no key, by an earlier version of the operator", keyVersion: undefined, sent: true },
  ])("of $key: is sent as it is: $sent", ({ keyVersion, sent }) => {
    const account = accountAt("http://127.0.0.1:9", { keyVersion: () => "current" });
    const submission = { id: "i", specHash: "h", attempt: 1, state: "Intended", journal: "j", time: TIME } as const;
    const status = { conditions: [], account: boundTo(account), submission: { ...submission, keyVersion } };
    expect(shownIntent(endpointOf({}, { status }), journal, account) !== undefined).toBe(sent);
  });
});
