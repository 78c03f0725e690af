import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, inject } from "vitest";
import type { Manifest } from "./manifests.ts";

export type Answer = { code: number; stdout: string; stderr: string };
export type Stored = { spec: Record<string, unknown>; status?: { conditions?: unknown[] } };

/** What the API server adds of its own to a value of the wrong type, length or enumeration: CEL was not reached. */
const NOTICE = "some validation rules were not checked because the object was invalid";

/** kubectl in a namespace of its own, which is there for the tests of one file. Call it at the top of the file. */
export function kubectlInNamespace(prefix: string) {
  const namespace = `${prefix}-${randomBytes(4).toString("hex")}`;

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

  /** A text beyond what the annotation of client-side apply can hold goes by server-side apply. */
  function apply(object: Manifest, ...options: string[]): Promise<Answer> {
    const input = JSON.stringify(object);
    const side = input.length > 200_000 ? ["--server-side"] : [];
    return kubectl(["apply", ...side, "-o", "json", ...options, "-f", "-"], input);
  }

  async function accepted(object: Manifest, ...options: string[]): Promise<Stored> {
    const { code, stdout, stderr } = await apply(object, ...options);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout) as Stored;
  }

  /** The one line of a refusal. */
  async function refused(object: Manifest, ...options: string[]): Promise<string> {
    const { code, stderr } = await apply(object, ...options);
    expect(code, `${object.kind} was accepted`).not.toBe(0);
    const lines = stderr.trim().split("\n");
    const noticed = lines.some((line) => line.includes(NOTICE));
    const own = noticed ? lines.slice(1).filter((line) => !line.includes(NOTICE)) : lines;
    expect(own, stderr).toHaveLength(1);
    return own.join();
  }

  beforeAll(async () => {
    expect((await kubectl(["create", "namespace", namespace])).stderr).toBe("");
  });
  afterAll(async () => {
    await kubectl(["delete", "namespace", namespace, "--wait=false"]);
  });
  return { namespace, kubectl, accepted, refused };
}
