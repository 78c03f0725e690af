import { request } from "node:http";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { browserForTests } from "../support/browser.ts";
import { createScene, type Scene, SECRET_VALUE } from "../support/page-scene.ts";
import { run } from "../support/run.ts";
import { startUi } from "../support/ui-process.ts";
import { API_KEY, eventually } from "../support/world.ts";

const openPage = browserForTests();

let scene: Scene;
beforeAll(async () => {
  scene = await createScene("secure");
});

type Answer = { status: number; headers: Record<string, string | string[] | undefined>; body: string };

/** A request with any headers: `fetch` would not let a test set Host. */
function ask(origin: string, path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${origin}${path}`, { method, headers }, (response) => {
      let body = "";
      response.on("data", (chunk: Buffer) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    sent.on("error", reject);
    sent.end();
  });
}

describe("a page for the user of this machine", () => {
  it("sends no value of a Secret, no API key and no signature to the browser, whatever is opened", async () => {
    const { page, go, problems } = await openPage({ args: scene.uiArgs });
    const bodies: string[] = [];
    page.on("response", async (response) => {
      const type = response.headers()["content-type"] ?? "";
      if (/json|html|javascript/.test(type)) bodies.push(await response.text().catch(() => ""));
    });
    for (const view of ["overview", "endpoints", "jobs", "attention", "new/SpeechJob", "money", "all"]) {
      await go(view);
      await eventually("the view is loaded", async () => (await page.getByText("Loading…").count()) === 0);
    }
    for (const [kind, name] of [
      ["GpuEndpoint", "echo"],
      ["Account", "default"],
      ["ArtifactStore", "results"],
      ["VideoJob", "waves"],
    ]) {
      await go(`objects/${kind}/${scene.world.namespace}/${name}`);
      for (const tab of ["Spec", "Status"]) {
        await page.getByRole("link", { name: tab, exact: true }).click();
        await page.getByRole("button", { name: "Copy", exact: true }).waitFor();
      }
    }
    await page.waitForLoadState();
    const everything = bodies.join("\n");
    expect(everything).toContain("secretKeyRef"); // the reference is shown
    expect(everything).not.toContain(SECRET_VALUE);
    expect(everything).not.toContain(API_KEY);
    expect(await page.evaluate(() => document.cookie)).toBe("");
    expect(page.url()).not.toContain("token");
    expect(problems).toEqual([]);
  });

  it("allows its own script and style only, and nobody may embed it", async () => {
    const ui = await startUi(...scene.uiArgs);
    try {
      const authorization = `Bearer ${new URL(ui.url).hash.replace("#token=", "")}`;
      const { headers, body } = await ask(ui.origin, "/");
      const policy = String(headers["content-security-policy"]);
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[^']+';/);
      expect(policy).toMatch(/frame-ancestors 'none'$/);
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(body).not.toMatch(/<script(?! type="module" src="app\.js" nonce=")/);
      expect(headers["set-cookie"]).toBeUndefined();
      expect((await ask(ui.origin, "/api/state")).status).toBe(401);
      expect((await ask(ui.origin, "/api/state", { authorization })).status).toBe(200);
      expect((await ask(ui.origin, "/api/state", { authorization, host: "evil.example.com" })).status).toBe(421);
      const write = { authorization, origin: "http://evil.example.com" };
      expect((await ask(ui.origin, "/api/jobs", write, "POST")).status).toBe(403);
    } finally {
      expect(await ui.stop()).toBe(0);
    }
  });
});

describe("a page in a cluster", () => {
  it("without a sign-in: everyone reads, nobody writes", async () => {
    const ui = await startUi("--auth=none", ...scene.uiArgs);
    try {
      await eventually("the lists are read", async () => {
        const { status, body } = await ask(ui.origin, "/api/rows?view=endpoints");
        return status === 200 && JSON.parse(body).total === 3;
      });
      const path = `/api/objects/GpuEndpoint/${scene.world.namespace}/echo/actions/delete`;
      const headers = { origin: ui.origin, "content-type": "application/json" };
      expect((await ask(ui.origin, path, headers, "POST")).status).toBe(403);
    } finally {
      await ui.stop();
    }
  });

  it("with bearer tokens: each user sees and changes what their token may, and nothing without one", async () => {
    const { namespace } = scene.world;
    const kubectl = async (...args: string[]) => {
      const flags = ["--kubeconfig", inject("kubeconfig"), "--namespace", namespace];
      const { code, stdout, stderr } = await run(inject("kubectl"), [...flags, ...args]);
      expect(code, stderr).toBe(0);
      return stdout.trim();
    };
    for (const [name, resources, verbs] of [
      ["endpoints-only", "gpuendpoints.mooring.dev", "get,list,watch"],
      ["jobs-only", "speechjobs.mooring.dev,videojobs.mooring.dev", "get,list,watch,patch"],
    ] as const) {
      await kubectl("create", "serviceaccount", name);
      await kubectl("create", "role", name, `--resource=${resources}`, `--verb=${verbs}`);
      await kubectl("create", "rolebinding", name, `--role=${name}`, `--serviceaccount=${namespace}:${name}`);
    }
    const endpointsOnly = await kubectl("create", "token", "endpoints-only");
    const jobsOnly = await kubectl("create", "token", "jobs-only");
    const ui = await startUi("--auth=bearer-token", ...scene.uiArgs);
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    const kindsFor = async (token: string) => {
      const { body } = await ask(ui.origin, "/api/rows?pageSize=100", as(token));
      const { rows, synced }: { rows: { kind: string }[]; synced: boolean } = JSON.parse(body);
      return synced && [...new Set(rows.map(({ kind }) => kind))].sort();
    };
    try {
      expect((await ask(ui.origin, "/api/rows")).status).toBe(401);
      expect((await ask(ui.origin, "/api/rows", as("wrong"))).status).toBe(401);
      expect(await eventually("the first user sees", () => kindsFor(endpointsOnly))).toEqual(["GpuEndpoint"]);
      expect(await eventually("the second user sees", () => kindsFor(jobsOnly))).toEqual(["SpeechJob", "VideoJob"]);
      const hidden = await ask(ui.origin, `/api/objects/SpeechJob/${namespace}/greeting`, as(endpointsOnly));
      expect(hidden.status).toBe(404);

      const { uid } = (await scene.world.get("GpuEndpoint", "echo")).metadata;
      const refused = await fetch(`${ui.origin}/api/objects/GpuEndpoint/${namespace}/echo/actions/reconcile`, {
        method: "POST",
        headers: { ...as(endpointsOnly), origin: ui.origin, "content-type": "application/json" },
        body: JSON.stringify({ uid }),
      });
      expect(refused.status).toBe(403);
      expect(await refused.text()).toMatch(/gpuendpoints.*echo.*forbidden.*endpoints-only/);
      // Another site's page would have the proxy's token added too.
      const foreign = await fetch(`${ui.origin}/api/objects/SpeechJob/${namespace}/long/actions/reconcile`, {
        method: "POST",
        headers: { ...as(jobsOnly), origin: "http://evil.example.com", "content-type": "application/json" },
        body: "{}",
      });
      expect(foreign.status).toBe(403);

      await kubectl("delete", "rolebinding", "endpoints-only");
      const gone = await eventually("what may no longer be listed disappears", async () => {
        const kinds = await kindsFor(endpointsOnly);
        return kinds !== false && kinds.length === 0 && "gone";
      });
      expect(gone).toBe("gone");
    } finally {
      await ui.stop();
    }
  });
});

describe("results", () => {
  it("from a private address are refused, unless the user allows it", async () => {
    const { namespace } = scene.world;
    const ui = await startUi("--auth=none", `--namespace=${namespace}`);
    try {
      const answer = await eventually("the job is known", async () => {
        const { status, body } = await ask(ui.origin, `/media/VideoJob/${namespace}/waves/0`);
        return status !== 404 && { status, body };
      });
      expect(answer).toMatchObject({ status: 403, body: expect.stringContaining("is not a public address") });
    } finally {
      await ui.stop();
    }
  });
});
