import { execFile, fork, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { createServer } from "node:http";
import { connect } from "node:net";
import { expect, it } from "vitest";

it.each([
  { what: "connects", open: () => connect(1) },
  { what: "listens", open: () => createServer().listen(0) },
  { what: "opens a datagram socket", open: () => createSocket("udp4") },
  { what: "runs a program", open: () => execFile("true") },
  { what: "runs a program and waits", open: () => spawnSync("true") },
  { what: "forks", open: () => fork("a.ts") },
])("a unit test that $what fails", ({ open }) => {
  expect(open).toThrow(/^a unit test opens a \w+: such a test belongs in test\/component$/);
});

it("a unit test that fetches fails", async () => {
  await expect(fetch("http://127.0.0.1:1")).rejects.toMatchObject({ cause: { message: /test\/component/ } });
});
