import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { freePorts } from "../../../tools/cluster/ports.ts";
import { isPortTaken } from "../../../tools/cluster/run-binaries.ts";

test("free ports are different, and something can listen on each", async () => {
  const ports = await freePorts(20);
  expect(new Set(ports).size).toBe(20);
  for (const port of ports) {
    const server = createServer().listen(port, "127.0.0.1");
    await once(server, "listening");
    await once(server.close(), "close");
  }
});

test.each([
  {
    name: "etcd",
    log: '{"level":"fatal","error":"listen tcp 127.0.0.1:2379: bind: address already in use"}',
    taken: true,
  },
  {
    name: "kube-apiserver",
    log: "failed to create listener: listen tcp 127.0.0.1:6443: bind: address already in use",
    taken: true,
  },
  { name: "another failure", log: "error: no such flag", taken: false },
])("a taken port is recognised in the log of $name", ({ log, taken }) => {
  expect(isPortTaken(log)).toBe(taken);
});
