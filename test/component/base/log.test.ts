import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** What a logger writes to standard output, by a process of its own. */
async function logged(logFormat: string, statements: string): Promise<string> {
  const program = `import { createLogger } from "./src/base/log.ts"; const log = createLogger({ logLevel: "info", logFormat: "${logFormat}" }); ${statements}`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  return stdout;
}

it.each(["json", "pretty"])("secrets are cut out by name, at the top and one level down (%s)", async (format) => {
  const names = ["apiKey", "authorization", "Authorization", "token", "password", "headers", "body"];
  const fields = names.map((name) => `${name}: "s3cr3t-${name}"`).join(", ");
  const text = await logged(format, `log.info({ ${fields}, request: { ${fields} }, kept: "visible" }, "called");`);
  expect(text).not.toContain("s3cr3t");
  expect(text).toContain("[redacted]");
  expect(text).toContain("visible");
});

it("lines are JSON with the level by name, an ISO time and nothing of the host, from the configured level on", async () => {
  const lines = (await logged("json", 'log.debug("no"); log.child({ controller: "c" }).warn({ n: 1 }, "yes");'))
    .trim()
    .split("\n");
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { level: "warn", time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), controller: "c", n: 1, msg: "yes" },
  ]);
});

it("a level that changes later is that of all children at once, and of no other logger", async () => {
  const program = `import { createLogger, createLogLevel } from "./src/base/log.ts";
    const level = createLogLevel("info");
    const log = createLogger({ logLevel: "info", logFormat: "json" }, level);
    const child = log.child({ controller: "c" });
    child.debug("before");
    level.set("debug");
    child.debug("debug");
    createLogger({ logLevel: "info", logFormat: "json" }).debug("another");
    level.set("error");
    child.warn("after");
    log.error("error");`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  const lines = stdout.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(["debug", "error"]);
});
