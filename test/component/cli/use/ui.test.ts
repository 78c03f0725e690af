import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { serveUi } from "../../../../src/ui/server.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

const unused = () => Promise.reject(new Error("nobody asks"));

it("given a port that is in use, the page is not served, and nothing of it stays open", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void other.close());
  const address = other.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  let closed = 0;
  const sessions = { of: unused, close: async () => void closed++ };
  const page = { auth: { kind: "None" } as const, allowedHosts: [], version: "1", readOnly: undefined, namespaces: [] };
  const assets = new Map();
  const options = { ...page, sessions, assets, openMedia: unused, callEndpoint: unused, clock: createFakeClock() };
  await expect(serveUi(options, { host: "127.0.0.1", port })).rejects.toThrow("EADDRINUSE");
  expect(closed).toBe(1);
});
