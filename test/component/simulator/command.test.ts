import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { makeClient } from "../provider/http/make-client.ts";

let child: ChildProcess | undefined;
let dir: string | undefined;
afterEach(async () => {
  child?.kill("SIGKILL");
  if (dir !== undefined) await rm(dir, { recursive: true });
  child = undefined;
  dir = undefined;
});

/** Runs `mooring simulator` and gives its first line, or what it said when it ended instead. */
async function run(args: string[], env: Record<string, string> = {}): Promise<string> {
  child = spawn(process.execPath, ["src/main.ts", "simulator", ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const line = new Promise<string>((resolve) => {
    const read = (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("listening")) resolve(text.trim());
    };
    child?.stdout?.on("data", read);
    child?.stderr?.on("data", read);
    child?.once("close", () => resolve(text.trim()));
  });
  return line;
}

describe("mooring simulator", () => {
  it("prints one line with its address, takes flags, variables and a file, and ends on SIGTERM", async () => {
    dir = await mkdtemp(join(tmpdir(), "simulator-"));
    const file = join(dir, "config.yaml");
    await writeFile(file, "bootDelayMs: 0\nlimits:\n  maxWorkerNum: 7\n");
    const line = await run(["--port", "0", "--config", file], {
      MOORING_API_KEY: "from-env, second",
      MOORING_TIME_SCALE: "0.5",
    });
    expect(line).toMatch(/^simulator listening on http:\/\/127\.0\.0\.1:\d+$/);
    const url = line.split(" ").at(-1) ?? "";
    const client = makeClient(url, { apiKey: () => "second" });
    expect(await client.getEndpointLimits()).toMatchObject({ maxWorkerNum: 7, maxGPUNum: 8 });
    expect(await (await fetch(`${url}/__config`)).json()).toMatchObject({ timeScale: 0.5, bootDelayMs: 0 });
    await client.close();
    const closed = child === undefined ? [] : once(child, "close");
    child?.kill("SIGTERM");
    expect(await closed).toEqual([0, null]);
  });

  it.each([
    [["--port", "99999"], "--port"],
    [["--time-scale", "-1"], "--time-scale"],
    [["--seed", "x"], "--seed"],
    [["--config", "/nowhere.yaml"], "ENOENT"],
  ])(
    "refuses %j",
    async (args, names) => {
      expect(await run(args)).toContain(names);
    },
    20_000,
  );
});
