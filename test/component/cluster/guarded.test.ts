import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Guarded, startGuarded } from "../../../tools/cluster/guarded.ts";
import { waitUntil } from "../../../tools/cluster/wait-until.ts";
import { isAlive, readPids } from "../../support/processes.ts";

async function guard(): Promise<Guarded> {
  const guarded = await startGuarded();
  onTestFinished(() => guarded.stop());
  return guarded;
}

const soon = { timeoutMs: 120_000 };

test("a program that is to stay ends with stop, together with what it started, and the folder goes", async () => {
  const { dir, start, output, stop } = await guard();
  await start("shell", "/bin/sh", ["-c", "sleep 600 & echo $! && wait"]);
  await waitUntil("the shell has started sleep", async () => (await output("shell")).endsWith("\n"), soon);
  const pids = [...(await readPids(dir)).values(), Number(await output("shell"))];
  expect(pids).toHaveLength(3);
  expect(pids.filter(isAlive)).toEqual(pids);
  await stop();
  await waitUntil("all are gone", async () => !pids.some(isAlive), soon);
  expect(existsSync(dir)).toBe(false);
  await stop();
});

test("the end of a program that was to stay is a failure", async () => {
  const { start, failed } = await guard();
  await start("shell", "/bin/sh", ["-c", "exit 3"]);
  await waitUntil("the failure is known", async () => failed.aborted, soon);
  expect(String(failed.reason)).toContain("shell ended with exit code 3");
});

test("a program that cannot be started is an error at once", async () => {
  const { dir, start, run } = await guard();
  await expect(start("missing", join(dir, "missing"), [])).rejects.toThrow("ENOENT");
  await expect(run("missing", join(dir, "missing"), [])).rejects.toThrow("ENOENT");
});

test("a program that runs to its end gets its environment; a failure has its last lines", async () => {
  const { run, output, failed } = await guard();
  await run("good", "/bin/sh", ["-c", "echo $GREETING"], { env: { GREETING: "hello" } });
  expect(await output("good")).toBe("hello\n");
  await expect(run("bad", "/bin/sh", ["-c", "echo first; echo last >&2; exit 2"])).rejects.toThrow(
    /exit code 2\nfirst\nlast$/,
  );
  expect(failed.aborted).toBe(false);
});

test("a run ends early when its signal aborts", async () => {
  const { run } = await guard();
  const interrupt = new AbortController();
  const running = run("sleep", "sleep", ["600"], { signal: interrupt.signal });
  interrupt.abort(new Error("enough"));
  await expect(running).rejects.toThrow("enough");
});

test("when somebody kills the guardian, that is a failure, and stop still ends all", async () => {
  const { dir, start, failed, stop } = await guard();
  await start("sleep", "sleep", ["600"]);
  const pids = await readPids(dir);
  process.kill(pids.get("guardian") ?? Number.NaN, "SIGKILL");
  await waitUntil("the failure is known", async () => failed.aborted, soon);
  await stop();
  await waitUntil("all are gone", async () => ![...pids.values()].some(isAlive), soon);
  expect(existsSync(dir)).toBe(false);
});

test("the end of a tolerated program is reported and is no failure", async () => {
  const { start, tolerate, failed } = await guard();
  await start("shell", "/bin/sh", ["-c", "sleep 0.3; exit 3"]);
  const ended: string[] = [];
  tolerate("shell", (error) => void ended.push(error.message));
  await waitUntil("the end is reported", async () => ended.length > 0, soon);
  expect(ended).toEqual(["shell ended with exit code 3"]);
  expect(failed.aborted).toBe(false);
});

test("a program that is ended is no failure, and another can start under its name", async () => {
  const { dir, start, end, output, failed } = await guard();
  await start("server", "/bin/sh", ["-c", "echo first && exec sleep 600"]);
  await waitUntil("the first runs", async () => (await output("server")).includes("first"), soon);
  const first = (await readPids(dir)).get("server") ?? 0;
  await end("server");
  expect(isAlive(first)).toBe(false);
  await expect(end("server")).rejects.toThrow("server does not run");
  await start("server", "/bin/sh", ["-c", "echo second && exec sleep 600"]);
  await waitUntil("the second runs", async () => (await output("server")).includes("second"), soon);
  expect(failed.aborted).toBe(false);
});
