import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { serviceAccounts } from "../support/service-account-tokens.ts";
import { createWorld, eventually, type Operator } from "../support/world.ts";

const accounts = serviceAccounts("metrics-auth");

type Ports = { metrics: number; probes: number };

async function portsOf(operator: Operator): Promise<Ports> {
  return eventually("the operator starts", async () => {
    const line = operator
      .log()
      .split("\n")
      .find((text) => text.includes('"operator starts"'));
    return line === undefined ? undefined : (JSON.parse(line) as Ports);
  });
}

describe("an operator with --metrics-auth token-review", () => {
  let operator: Operator;
  let ports: Ports;
  beforeAll(async () => {
    const world = await createWorld("metrics", { account: null });
    operator = await world.startOperator({ args: ["--metrics-auth=token-review", "--profiling"] });
    ports = await portsOf(operator);
  });

  const page = async (port: number, path: string, headers: Record<string, string> = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    return { status: answer.status, body: await answer.text() };
  };
  const scrape = (token?: string) =>
    page(ports.metrics, "/metrics", token === undefined ? {} : { authorization: `Bearer ${token}` });

  it("shows its metrics only to users with permission", async () => {
    const [nobody, reader] = await Promise.all([accounts.token("nobody"), accounts.token("reader")]);
    const role = `${accounts.namespace}-reader`;
    onTestFinished(async () => {
      await accounts.kubectl("delete", "clusterrolebinding", role);
      await accounts.kubectl("delete", "clusterrole", role);
    });
    await accounts.kubectl("create", "clusterrole", role, "--verb=get", "--non-resource-url=/metrics");
    const subject = `--serviceaccount=${accounts.namespace}:reader`;
    await accounts.kubectl("create", "clusterrolebinding", role, `--clusterrole=${role}`, subject);

    expect((await scrape()).status).toBe(401);
    expect((await scrape("no-such-token")).status).toBe(401);
    expect(await scrape(nobody)).toEqual({
      status: 403,
      body: `Forbidden: "system:serviceaccount:${accounts.namespace}:nobody" may not get the non-resource URL /metrics\n`,
    });
    const answer = await eventually("the reader may", async () => {
      const tried = await scrape(reader);
      return tried.status === 200 && tried;
    });
    expect(answer.body).toContain("rest_client_requests_total");
    for (const token of [nobody, reader]) expect(operator.log()).not.toContain(token.slice(0, 40));
  });

  it("lets only users with permission change the log level, which holds for what it logs next", async () => {
    const [stranger, engineer] = await Promise.all([accounts.token("stranger"), accounts.token("engineer")]);
    const role = `${accounts.namespace}-debugger`;
    onTestFinished(async () => {
      await accounts.kubectl("delete", "clusterrolebinding", role);
      await accounts.kubectl("delete", "clusterrole", role);
    });
    await accounts.kubectl("create", "clusterrole", role, "--verb=get,put", "--non-resource-url=/debug/*");
    const subject = `--serviceaccount=${accounts.namespace}:engineer`;
    await accounts.kubectl("create", "clusterrolebinding", role, `--clusterrole=${role}`, subject);

    const level = (token: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${ports.metrics}/debug/flags/v`, {
        ...init,
        headers: { authorization: `Bearer ${token}` },
      });
    expect((await level(stranger)).status).toBe(403);
    const shown = await eventually("the engineer may", async () => {
      const answer = await level(engineer);
      return answer.status === 200 && answer.text();
    });
    expect(shown).toBe("debug\n");
    expect((await level(stranger, { method: "PUT", body: "error" })).status).toBe(403);
    expect((await level(engineer, { method: "PUT", body: "info" })).status).toBe(200);
    expect(await (await level(engineer)).text()).toBe("info\n");
    expect((await scrape(engineer)).status).toBe(403);

    const heap = await page(ports.metrics, "/debug/pprof/heap", { authorization: `Bearer ${engineer}` });
    expect(heap.status).toBe(200);
    expect(JSON.parse(heap.body)).toMatchObject({ snapshot: { meta: expect.any(Object) } });
    const profile = await page(ports.metrics, "/debug/pprof/profile?seconds=1", {
      authorization: `Bearer ${engineer}`,
    });
    expect(JSON.parse(profile.body)).toMatchObject({ nodes: expect.any(Array) });
  });

  it("is ready with its caches, its watches and the lease known, each on a page of its own", async () => {
    const ready = await eventually("it is ready", async () => {
      const { status, body } = await page(ports.probes, "/readyz?verbose");
      return status === 200 && body;
    });
    expect(ready).toBe("[+]caches ok\n[+]watch ok\n[+]accounts ok\n[+]lease ok\nreadyz check passed\n");
    expect(await page(ports.probes, "/readyz/lease")).toEqual({ status: 200, body: "ok" });
    expect(await page(ports.probes, "/healthz")).toEqual({ status: 200, body: "ok" });
  });
});
