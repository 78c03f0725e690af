import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { type ApiObject, type ApiRequests, type ApplyOptions, apiRequests, type Reply } from "./api-requests.ts";

export type Answer = { code: number; stdout: string; stderr: string };
export type Stored = { spec: Record<string, unknown>; status?: { conditions?: unknown[] } };

/** What the API server adds of its own to a value of the wrong type, length or enumeration: CEL was not reached. */
const NOTICE = "some validation rules were not checked because the object was invalid";

/** kubectl and API requests in a namespace of its own, which exists for the tests of one file. Call it at the top of the file. */
export function kubectlInNamespace(prefix: string) {
  const namespace = `${prefix}-${randomBytes(4).toString("hex")}`;
  let api: ApiRequests | undefined;

  /** Never throws, so that refusals can be looked at. */
  function kubectl(args: readonly string[], input = ""): Promise<Answer> {
    return new Promise((resolve) => {
      const all = ["--kubeconfig", inject("kubeconfig"), "--namespace", namespace, ...args];
      const child = execFile(inject("kubectl"), all, { maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
      );
      child.stdin?.end(input);
    });
  }

  const apply = (object: ApiObject, options?: ApplyOptions): Promise<Reply> =>
    api?.apply(object, options) ?? expect.fail("call this in a test: the namespace exists before the first");

  /** What is stored, or with `dryRun` would be. */
  async function accepted(object: ApiObject, options?: ApplyOptions): Promise<Stored> {
    const { object: stored, refusal, warnings } = await apply(object, options);
    expect({ refusal, warnings }).toEqual({ refusal: undefined, warnings: [] });
    return stored as unknown as Stored;
  }

  /** The one line of a refusal. */
  async function refused(object: ApiObject, options?: ApplyOptions): Promise<string> {
    const { refusal } = await apply(object, options);
    const lines = refusal ?? expect.fail(`${object.kind} was accepted`);
    const own = lines.filter((line) => !line.includes(NOTICE));
    expect(own, lines.join("\n")).toHaveLength(1);
    return own.join();
  }

  beforeAll(async () => {
    api = await apiRequests(namespace);
    expect((await kubectl(["create", "namespace", namespace])).stderr).toBe("");
  });
  afterAll(async () => {
    await kubectl(["delete", "namespace", namespace, "--wait=false"]);
    await api?.close();
  });
  return { namespace, kubectl, accepted, refused };
}
