import { expect, it } from "vitest";
import { connectDirectly } from "../../../../../src/cli/connect-account.ts";
import { checkService } from "../../../../../src/cli/operate/doctor/checks.ts";
import { KEY } from "../../../provider/http/make-client.ts";
import { type Bench, startBench } from "../../../simulator/start.ts";

const check = (url: string, key = KEY) => checkService((generation) => connectDirectly(url, key, generation));

async function withService(run: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = await startBench();
  try {
    await run(bench);
  } finally {
    await bench.close();
  }
}

it("a service that fits takes the key and lists endpoints in both generations", () =>
  withService(async ({ url, audit }) => {
    expect(await check(url)).toEqual([
      { level: "ok", message: `${url} takes the key` },
      { level: "ok", message: "generation Current (/gpus/v2/endpoints): 0 endpoints" },
      { level: "ok", message: "generation Earlier (/gpu-instance/openapi/v1/endpoints): 0 endpoints" },
    ]);
    expect(new Set((await audit()).map(({ method }) => method))).toEqual(new Set(["GET"]));
  }));

it("a generation that the service does not have is a warning that says what to set", () =>
  withService(async ({ url, fault }) => {
    await fault({ kind: "status", operation: "listEndpointsEarlier", status: 404, times: 9 });
    const [, , earlier] = await check(url);
    expect(earlier?.level).toBe("warn");
    expect(earlier?.message).toMatch(
      /^generation Earlier \(\/gpu-instance\/openapi\/v1\/endpoints\): listEndpointsEarlier: .*404.*: use the other one \(spec\.endpoints\.generation\), or correct spec\.paths\.listEndpointsEarlier$/,
    );
  }));

it("a wrong key ends the check", () =>
  withService(async ({ url }) => {
    const findings = await check(url, "sk-wrong-0123456789");
    expect(findings).toEqual([{ level: "bad", message: expect.stringContaining("the service refuses the key: ") }]);
    expect(findings[0]?.message).not.toContain("sk-wrong");
  }));
