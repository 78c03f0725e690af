import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { preparePeers } from "../../../bench/peers/commands.ts";

it("a peer whose toolchain is not on the machine is left out, with a line that says why", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-peers-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const lines: string[] = [];
  const env = { PATH: folder, XDG_CACHE_HOME: folder };
  const wanted = ["controller-runtime", "client-node", "kube-rs", "kopf"] as const;
  expect(await preparePeers(wanted, (line) => lines.push(line), env)).toEqual(["controller-runtime", "client-node"]);
  expect(lines).toEqual([
    "kube-rs is left out: there is no cargo on PATH to build it with (https://rustup.rs)",
    "kopf is left out: there is no python3 on PATH to build it with (https://www.python.org/downloads)",
  ]);
});
