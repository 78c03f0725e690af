import { describe, expect, it } from "vitest";
import { createNamespaces } from "../../../src/controllers/account/namespaces.ts";
import { createValueReader, resolveEnv, StalledError } from "../../../src/controllers/references.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { base64 } from "../../support/manifests.ts";
import { type Answer, failure, type ScriptedApi, scriptedApi } from "../../support/scripted-api-server.ts";

const forever = new AbortController().signal;
const objects: Record<string, Answer> = {
  "/api/v1/namespaces/team/secrets/token": {
    body: { metadata: { name: "token" }, data: { key: base64("s3cr3t"), empty: "" } },
  },
  "/api/v1/namespaces/team/secrets/long": {
    body: { metadata: { name: "long" }, data: { key: base64("x".repeat(4_096)) } },
  },
  "/api/v1/namespaces/team/secrets/none": { body: { metadata: { name: "none" } } },
  "/api/v1/namespaces/team/secrets/locked": failure(403, "Forbidden"),
  "/api/v1/namespaces/team/configmaps/locked": failure(403, "Forbidden"),
  "/api/v1/namespaces/team/secrets/broken": failure(500, "InternalError"),
  "/api/v1/namespaces/team/configmaps/settings": { body: { metadata: { name: "settings" }, data: { mode: "fast" } } },
};
const api = (): Promise<ScriptedApi> => scriptedApi(({ path }) => objects[path] ?? failure(404, "NotFound"));
const secret = (name: string, key = "key") => ({ valueFrom: { secretKeyRef: { name, key } } });
const configMap = (name: string, key: string) => ({ valueFrom: { configMapKeyRef: { name, key } } });

describe("an environment", () => {
  it("has its values, and knows which are referred to and must not be shown", async () => {
    const { client } = await api();
    const env = await resolveEnv(createValueReader(client, forever), "team", [
      { name: "PLAIN", value: "x" },
      { name: "EMPTY", value: "" },
      { name: "TOKEN", ...secret("token") },
      { name: "NOTHING", ...secret("token", "empty") },
      { name: "MODE", ...configMap("settings", "mode") },
    ]);
    expect(env).toEqual([
      { name: "PLAIN", value: "x", secret: false },
      { name: "EMPTY", value: "", secret: false },
      { name: "TOKEN", value: "s3cr3t", secret: true },
      { name: "NOTHING", value: "", secret: true },
      { name: "MODE", value: "fast", secret: true },
    ]);
  });

  it("reads each object once, and by get only", async () => {
    const { client, requests } = await api();
    const reader = createValueReader(client, forever);
    const env = Array.from({ length: 50 }, (_, i) => ({ name: `V${i}`, ...secret("token") }));
    await resolveEnv(reader, "team", env);
    await reader.secretKey("team", { name: "token", key: "key" });
    expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /api/v1/namespaces/team/secrets/token",
    ]);
  });

  it.each([
    {
      name: "a missing Secret",
      source: secret("nowhere"),
      reason: "SecretNotFound",
      message:
        "Secret team/nowhere does not exist: create it: kubectl create secret generic nowhere -n team --from-literal=key=VALUE",
    },
    {
      name: "a missing key",
      source: secret("token", "other"),
      reason: "SecretKeyMissing",
      message: `Secret team/token has no key "other": add it: kubectl patch secret -n team token --type=merge -p '{"stringData":{"other":"VALUE"}}'`,
    },
    {
      name: "a Secret without data",
      source: secret("none"),
      reason: "SecretKeyMissing",
      message: `Secret team/none has no key "key": add it: kubectl patch secret -n team none --type=merge -p '{"stringData":{"key":"VALUE"}}'`,
    },
    {
      name: "a Secret that may not be read",
      source: secret("locked"),
      reason: "ReadForbidden",
      message:
        "the operator may not read Secret team/locked: add team to rbac.secretNamespaces in the values of the operator's chart, or grant the operator get on secrets in namespace team",
    },
    {
      name: "a ConfigMap that may not be read",
      source: configMap("locked", "k"),
      reason: "ReadForbidden",
      message:
        "the operator may not read ConfigMap team/locked: add team to rbac.secretNamespaces in the values of the operator's chart, or grant the operator get on configmaps in namespace team",
    },
    {
      name: "a missing ConfigMap",
      source: configMap("nowhere", "k"),
      reason: "ConfigMapNotFound",
      message:
        "ConfigMap team/nowhere does not exist: create it: kubectl create configmap nowhere -n team --from-literal=k=VALUE",
    },
    {
      name: "a missing key of a ConfigMap",
      source: configMap("settings", "k"),
      reason: "SecretKeyMissing",
      message: `ConfigMap team/settings has no key "k": add it: kubectl patch configmap -n team settings --type=merge -p '{"data":{"k":"VALUE"}}'`,
    },
    {
      name: "a value that is too long",
      source: secret("long"),
      reason: "InvalidSpec",
      message: "env V: the value has 4096 characters, allowed are 4095: shorten it",
    },
  ])("says what to do about $name", async ({ source, reason, message }) => {
    const { client } = await api();
    const error = await resolveEnv(createValueReader(client, forever), "team", [{ name: "V", ...source }]).catch(
      (reason_: unknown) => reason_,
    );
    expect(error).toBeInstanceOf(StalledError);
    expect(error).toMatchObject({ reason, message });
    expect(String(error)).not.toContain("s3cr3t");
  });

  it("says all that is missing at once, each thing once", async () => {
    const { client } = await api();
    const error = await resolveEnv(createValueReader(client, forever), "team", [
      { name: "A", ...secret("token", "one") },
      { name: "B", ...secret("token", "two") },
      { name: "C", ...configMap("nowhere", "k") },
      { name: "D", ...configMap("nowhere", "l") },
      { name: "E", ...secret("token") },
    ]).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      reason: "SecretKeyMissing",
      message: [
        `Secret team/token has no key "one": add it: kubectl patch secret -n team token --type=merge -p '{"stringData":{"one":"VALUE"}}'`,
        `Secret team/token has no key "two": add it: kubectl patch secret -n team token --type=merge -p '{"stringData":{"two":"VALUE"}}'`,
        "ConfigMap team/nowhere does not exist: create it: kubectl create configmap nowhere -n team --from-literal=k=VALUE --from-literal=l=VALUE",
      ].join("; "),
    });
  });

  it("does not take a failing API server for a missing Secret", async () => {
    const { client } = await api();
    await expect(
      createValueReader(client, forever).secretKey("team", { name: "broken", key: "key" }),
    ).rejects.toMatchObject({ status: 500 });
  });
});

describe("labels of a namespace", () => {
  it("are read once in 30 s, and again after a failure", async () => {
    let answer: Answer = failure(500, "InternalError");
    const { client, requests } = await scriptedApi(() => answer);
    const clock = createFakeClock();
    const { labels } = createNamespaces(client, clock);
    await expect(labels("team")).rejects.toMatchObject({ status: 500 });
    answer = { body: { metadata: { name: "team", labels: { team: "red" } } } };
    expect(await labels("team")).toEqual({ team: "red" });
    answer = { body: { metadata: { name: "team" } } };
    await clock.advance(29_999);
    expect(await labels("team")).toEqual({ team: "red" });
    await clock.advance(1);
    expect(await labels("team")).toEqual({});
    expect(requests).toHaveLength(3);
  });

  it("are none when the namespace is gone", async () => {
    const { client } = await scriptedApi(() => failure(404, "NotFound"));
    expect(await createNamespaces(client, createFakeClock()).labels("team")).toEqual({});
  });
});
