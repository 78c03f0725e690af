import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { gpuEndpointResource } from "../../src/api/v1alpha1/kinds.ts";
import { browserForTests, expectAccessible } from "../support/browser.ts";
import { manifest } from "../support/manifests.ts";
import { createWorld } from "../support/world.ts";

const openPage = browserForTests();

it("an endpoint is called from its page, which shows status, time and body; a read-only page calls nothing", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? "no key"}`);
    response.writeHead(418, { "content-type": "application/json" }).end('{"models":["tea"]}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  // No operator runs: the status is what is written here.
  const world = await createWorld("request-box");
  const { kube, namespace } = world;
  await world.apply(manifest("endpoint", {}, "echo"));
  const status = {
    url: `http://127.0.0.1:${port}`,
    account: { kind: "Account", name: "default", baseURL: "http://a" },
  };
  await kube.mergePatch(gpuEndpointResource, { namespace, name: "echo", subresource: "status" }, { status });

  const flags = [`--namespace=${namespace}`, "--allow-private-networks"];
  const opened = await openPage({ args: flags });
  const { page, go, problems } = opened;
  await go(`objects/GpuEndpoint/${namespace}/echo`);
  const box = page.getByRole("region", { name: "Send a request" });
  await box.getByRole("combobox", { name: "Method" }).selectOption("POST");
  await box.getByRole("textbox", { name: "Path" }).fill("/v1/models");
  await box.getByRole("textbox", { name: "Body (JSON)" }).fill('{"a":1}');
  await box.getByRole("button", { name: "Send" }).click();
  await box.getByText("HTTP 418").waitFor();
  await box.getByText(/in \d[\d,]* ms, first byte after \d[\d,]* ms, 18 bytes/).waitFor();
  await box.getByRole("region", { name: "body of the response" }).getByText('"tea"').waitFor();
  await expectAccessible(opened);
  await box.getByRole("checkbox", { name: /Send the API key/ }).check();
  await box.getByRole("button", { name: "Send" }).click();
  await expect
    .poll(() => asked)
    .toEqual(["POST /v1/models no key", expect.stringMatching(/^POST \/v1\/models Bearer \S+$/)]);
  await box.getByRole("textbox", { name: "Path" }).fill("no-slash");
  await box.getByRole("button", { name: "Send" }).click();
  expect(await box.getByRole("textbox", { name: "Path" }).evaluate((input) => input.matches(":invalid"))).toBe(true);
  expect(problems).toEqual([]);

  const closed = await openPage({ args: [...flags, "--read-only"] });
  await closed.go(`objects/GpuEndpoint/${namespace}/echo`);
  await closed.page.getByRole("region", { name: "Send a request" }).getByText(`127.0.0.1:${port}`).waitFor();
  expect(await closed.page.getByRole("button", { name: "Send" }).count()).toBe(0);
  expect(asked).toHaveLength(2);
});
