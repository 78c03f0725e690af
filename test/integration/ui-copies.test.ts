import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type BucketScene, createBucketScene, STORE, STORE_SECRET, storeSpec } from "../support/bucket-scene.ts";
import { run } from "../support/run.ts";
import { startUi, type UiProcess } from "../support/ui-process.ts";
import { eventually } from "../support/world.ts";

let scene: BucketScene;
let ui: UiProcess;
let reader: string;
let viewer: string;
const bodies: string[] = [];

beforeAll(async () => {
  scene = await createBucketScene("ui-copies");
  ui = await startUi("--auth=bearer-token", ...scene.uiArgs);
  const lists = [
    "--resource=speechjobs.mooring.dev,videojobs.mooring.dev,artifactstores.mooring.dev",
    "--verb=list,watch",
  ];
  viewer = await userWith("viewer", [lists]);
  reader = await userWith("reader", [lists, ["--resource=secrets", `--resource-name=${STORE_SECRET}`, "--verb=get"]]);
});
afterAll(() => ui?.stop());

/** The token of a service account with these permissions in the namespace. */
async function userWith(name: string, permissions: string[][]): Promise<string> {
  const { namespace } = scene.world;
  const kubectl = async (...args: string[]) => {
    const flags = ["--kubeconfig", inject("kubeconfig"), "--namespace", namespace];
    const { code, stdout, stderr } = await run(inject("kubectl"), [...flags, ...args]);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  await kubectl("create", "serviceaccount", name);
  for (const [index, permission] of permissions.entries()) {
    const role = `${name}-${index}`;
    await kubectl("create", "role", role, ...permission);
    await kubectl("create", "rolebinding", role, `--role=${role}`, `--serviceaccount=${namespace}:${name}`);
  }
  return kubectl("create", "token", name);
}

type Played = { status: number; headers: Headers; bytes: Buffer; error: string };

/** The first result of a job as the page gets it. */
async function play(
  [kind, name]: [string, string],
  { token = reader, range, origin = ui.origin }: { token?: string; range?: string; origin?: string } = {},
): Promise<Played> {
  const headers = { authorization: `Bearer ${token}`, ...(range === undefined ? {} : { range }) };
  return eventually(`${name} is known`, async () => {
    const answer = await fetch(`${origin}/media/${kind}/${scene.world.namespace}/${name}/0`, { headers });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const text = bytes.toString("latin1");
    bodies.push(text, JSON.stringify([...answer.headers]));
    const error = answer.ok ? "" : String(JSON.parse(text).error);
    const known = !error.startsWith("There is no such result") && !error.includes("or you may not see it");
    return known && { status: answer.status, headers: answer.headers, bytes, error };
  });
}

/** The object as it lies in the bucket. */
async function storedFile(name: string): Promise<Buffer> {
  const { folder } = scene.s3;
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = files.filter((one) => one.isFile() && one.parentPath.includes(`/${name}/`));
  expect(found).toHaveLength(1);
  return readFile(join(found[0]?.parentPath ?? "", found[0]?.name ?? ""));
}

const SPOKEN: [string, string] = ["SpeechJob", "spoken"];
const FILMED: [string, string] = ["VideoJob", "filmed"];

describe("a user who may read the credentials of the store", () => {
  it.each([
    { job: SPOKEN, type: "audio/mpeg" },
    { job: FILMED, type: "video/mp4" },
  ])("gets the copy from the bucket: $type", async ({ job, type }) => {
    const { status, headers, bytes } = await play(job);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("accept-ranges")).toBe("bytes");
    expect(bytes.equals(await storedFile(job[1]))).toBe(true);
  });

  it("gets parts of it, so that a player can seek", async () => {
    const whole = await storedFile("spoken");
    const part = await play(SPOKEN, { range: "bytes=100-199" });
    expect(part.status).toBe(206);
    expect(part.headers.get("content-range")).toBe(`bytes 100-199/${whole.length}`);
    expect(part.bytes.equals(whole.subarray(100, 200))).toBe(true);
    const end = await play(SPOKEN, { range: `bytes=${whole.length - 10}-` });
    expect(end.bytes.equals(whole.subarray(-10))).toBe(true);
    expect((await play(SPOKEN, { range: `bytes=${whole.length}-` })).status).toBe(416);
  });

  it("is told when the object is gone", async () => {
    await scene.world.patch("ArtifactStore", STORE, { spec: { s3: { prefix: "elsewhere" } } });
    const answer = await eventually("the page knows the change", async () => {
      const answer = await play(SPOKEN);
      return answer.status !== 200 && answer;
    });
    expect(answer).toMatchObject({
      status: 404,
      error: expect.stringMatching(/^s3:\/\/results\/elsewhere\/.* does not exist$/),
    });
    await scene.world.patch("ArtifactStore", STORE, { spec: storeSpec(scene.s3) });
    await eventually("it is back", async () => (await play(SPOKEN)).status === 200);
  });
});

describe("a user who may not", () => {
  it("gets the result from its URL, as long as that works", async () => {
    const { status, bytes } = await play(FILMED, { token: viewer });
    expect(status).toBe(200);
    expect(bytes.equals(await storedFile("filmed"))).toBe(true);
  });

  it("is told which Secret is missing", async () => {
    expect(await play(SPOKEN, { token: viewer })).toMatchObject({
      status: 403,
      error: `You may not read Secret ${scene.world.namespace}/${STORE_SECRET}, which has the credentials of ArtifactStore ${STORE}`,
    });
  });
});

describe("a page", () => {
  it("that may use public addresses only reads from no private one", async () => {
    const strict = await startUi("--auth=bearer-token", `--namespace=${scene.world.namespace}`);
    try {
      const answer = await play(SPOKEN, { origin: strict.origin });
      expect(answer).toMatchObject({ status: 403, error: expect.stringContaining("is not a public address") });
    } finally {
      await strict.stop();
    }
  });

  it("does not use an identity of its own for a store without credentials", async () => {
    await scene.world.patch("ArtifactStore", STORE, { spec: { s3: { credentialsSecretRef: null } } });
    const answer = await eventually("the page knows the change", async () => {
      const answer = await play(SPOKEN);
      return answer.status !== 200 && answer;
    });
    expect(answer).toMatchObject({
      status: 403,
      error: expect.stringContaining("uses the operator's own identity, which this page does not have"),
    });
    await scene.world.patch("ArtifactStore", STORE, { spec: storeSpec(scene.s3) });
    await eventually("it is back", async () => (await play(SPOKEN)).status === 200);
  });

  it("says so when the store refuses the credentials, and never shows them", async () => {
    const wrong = { AWS_SECRET_ACCESS_KEY: "another-secret-value" };
    await scene.world.patch("Secret", STORE_SECRET, { stringData: wrong });
    const answer = await play(SPOKEN);
    expect(answer).toMatchObject({ status: 403, error: expect.stringContaining("SignatureDoesNotMatch") });
    for (const body of bodies) {
      for (const secret of [wrong.AWS_SECRET_ACCESS_KEY, scene.s3.secretAccessKey, scene.s3.accessKeyId]) {
        expect(body).not.toContain(secret);
      }
    }
  });
});
