import { expect, it } from "vitest";
import { appNameOf } from "../../../../src/controllers/gpu-endpoint/desired.ts";
import { CLUSTER_UID, desiredOf, endpointOf } from "../../../support/endpoints.ts";
import { sessionAt } from "../../../support/service-account.ts";
import { KEY } from "../../provider/http/make-client.ts";
import { reconciledEndpoint } from "./world.ts";

it("an endpoint that the list shows under the generated app name is bound, and no second one is created", async () => {
  const w = await reconciledEndpoint();
  const object = endpointOf();
  const { endpoints } = sessionAt(w.bench.url, { apiKey: KEY });
  const appName = appNameOf(object, CLUSTER_UID);
  const { id } = await endpoints.create({ ...desiredOf(object), appName }, {});
  await w.list();
  await w.reconcileFor(60_000);
  expect(w.status().endpointID).toBe(id);
  expect(await w.bench.audit("?operation=createEndpoint")).toHaveLength(1);
});
