import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { type ApiObject, type ApiRequests, type ApplyOptions, apiRequests, type Reply } from "./api-requests.ts";
import { type Ended, run } from "./run.ts";

/** What the API server adds of its own to a value of the wrong type, length or enumeration: CEL was not reached. */
const NOTICE = "some validation rules were not checked because the object was invalid";

/** kubectl and API requests in a namespace of its own, which exists for the tests of one file. Call it at the top of the file. */
export function kubectlInNamespace(prefix: string) {
  const namespace = `${prefix}-${randomBytes(4).toString("hex")}`;
  let api: ApiRequests | undefined;

  const kubectl = (args: readonly string[], input = ""): Promise<Ended> =>
    run(inject("kubectl"), ["--kubeconfig", inject("kubeconfig"), "--namespace", namespace, ...args], { input });

  const apply = (object: ApiObject, options?: ApplyOptions): Promise<Reply> =>
    api?.apply(object, options) ?? expect.fail("call this in a test: the namespace exists before the first");

  /** What is stored, or with `dryRun` would be. */
  async function accepted(object: ApiObject, options?: ApplyOptions): Promise<ApiObject> {
    const { object: stored, refusal, warnings } = await apply(object, options);
    expect({ refusal, warnings }).toEqual({ refusal: undefined, warnings: [] });
    return stored ?? expect.fail("the API server answered without an object");
  }

  /** The one line of a refusal. */
  async function refused(object: ApiObject, options?: ApplyOptions): Promise<string> {
    const { refusal } = await apply(object, options);
    const lines = refusal ?? expect.fail(`${object.kind} was accepted`);
    const own = lines.filter((line) => !line.includes(NOTICE));
    expect(own, lines.join("\n")).toHaveLength(1);
    // Kubernetes 1.30 has other words for the same limit.
    return own.join().replace("Too long: may not be longer than", "Too long: may not be more than");
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
