/** Keys that every JavaScript object inherits are valid keys of Secrets, ConfigMaps and labels. They mean no more than others. */
import { describe, expect, it } from "vitest";
import { secretKeyRefSchema } from "../../src/api/v1alpha1/meta.ts";
import { s3Failure } from "../../src/artifacts/s3/failure.ts";
import { envFromSecret } from "../../src/cli/operate/import/env.ts";
import { matchesLabels } from "../../src/controllers/account/namespaces.ts";
import { createValueReader } from "../../src/controllers/references.ts";
import { mergePatchOf } from "../../src/kube/patch.ts";
import { scriptedApi } from "../support/scripted-api-server.ts";

const KEYS = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"];
const { signal } = new AbortController();

/** Answers every read with an object that has this data. */
async function readerOf(data: Record<string, string>) {
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, data };
  return createValueReader((await scriptedApi(() => ({ body }))).client, signal);
}

describe.each(KEYS)("the key %s", (key) => {
  it("of a Secret or a ConfigMap without it is missing, and its value is read where it is there", async () => {
    const empty = await readerOf({});
    await expect(empty.secretKey("n", { name: "s", key })).rejects.toMatchObject({ reason: "SecretKeyMissing" });
    await expect(empty.configMapKey("n", { name: "s", key })).rejects.toMatchObject({ reason: "SecretKeyMissing" });
    const full = await readerOf(Object.fromEntries([[key, Buffer.from("value").toString("base64")]]));
    expect(await full.secretKey("n", { name: "s", key })).toBe("value");
  });

  it("is accepted in a manifest, because a Secret can have it", () => {
    expect(secretKeyRefSchema.safeParse({ name: "s", key }).success).toBe(true);
  });

  it("of a label is absent unless the namespace has it", () => {
    const exists = { matchExpressions: [{ key, operator: "Exists" as const }] };
    expect(matchesLabels(exists, {})).toBe(false);
    expect(matchesLabels(exists, Object.fromEntries([[key, "a"]]))).toBe(true);
    expect(matchesLabels({ matchExpressions: [{ key, operator: "DoesNotExist" as const }] }, {})).toBe(true);
  });

  it("of a status is patched like any other", () => {
    const value = Object.fromEntries([[key, "a"]]);
    expect(Object.entries(mergePatchOf({}, value) ?? {})).toEqual([[key, "a"]]);
    expect(Object.entries(mergePatchOf(value, {}) ?? {})).toEqual([[key, null]]);
  });

  it("as the code of an S3 error is an unknown code", () => {
    const error = Object.assign(new Error("no"), { name: key, $metadata: { httpStatusCode: 403 } });
    expect(s3Failure(error, "s3://b/k")).toMatchObject({ kind: "Denied", message: "s3://b/k: HTTP 403" });
  });

  it("as the name of a variable is imported with its value", () => {
    const { env, data } = envFromSecret([{ key, value: "v" }], "s");
    expect(env).toEqual([{ name: key, valueFrom: { secretKeyRef: { name: "s", key } } }]);
    expect(Object.entries(data)).toEqual([[key, Buffer.from("v").toString("base64")]]);
  });
});

it.each([".", "..", "..data", "a/b", ""])("%j is no key of a Secret, and a manifest with it is refused", (key) => {
  expect(secretKeyRefSchema.safeParse({ name: "s", key }).success).toBe(false);
});
