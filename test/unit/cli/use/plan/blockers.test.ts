import { describe, expect, it } from "vitest";
import type { VideoJob } from "../../../../../src/api/v1alpha1/video-job.ts";
import { jobBlockers } from "../../../../../src/cli/use/plan/blockers.ts";
import type { KubeClient } from "../../../../../src/kube/client.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import type { Place, Resource } from "../../../../../src/kube/resource.ts";
import { speechJobOf, videoJobOf } from "../../../../support/jobs.ts";
import { type Change, manifest } from "../../../../support/manifests.ts";

/** Objects by `KIND/NAME`; "Forbidden": the user may not read it. */
type Cluster = Record<string, object | "Forbidden">;

const ready = (status: "True" | "False", message = "", more: object[] = []) => ({
  conditions: [{ type: "Ready", status, reason: "R", message, lastTransitionTime: "" }, ...more],
});
const account = (spec: Change, status: object = ready("True")) => ({ ...manifest("account", spec), status });
const clusterAccount = (spec: Change) => ({
  ...manifest("clusterAccount", spec, "shared"),
  metadata: { name: "shared" },
  status: ready("True"),
});
const speech = { speech: { maxCharacters: 50_000 } };
const good: Cluster = {
  "Account/default": account(speech),
  "Namespace/team": { metadata: { name: "team", labels: { tier: "cpu" } } },
};

function blockers(cluster: Cluster, wanted: Change | VideoJob = {}): Promise<string[]> {
  const get = async ({ kind }: Resource, { name = "" }: Place) => {
    const found = cluster[`${kind}/${name}`];
    if (found === undefined) throw new KubeError(`no ${kind} ${name}`, { status: 404, reason: "NotFound" });
    if (found === "Forbidden") throw new KubeError("no", { status: 403, reason: "Forbidden" });
    return found;
  };
  const kube = { get } as Pick<KubeClient, "get"> as KubeClient;
  const deps = { kube, signal: new AbortController().signal };
  return jobBlockers(deps, "metadata" in wanted ? (wanted as VideoJob) : speechJobOf("hd", wanted));
}

describe("what keeps a new job from being sent", () => {
  it("is nothing, when all is there", async () => expect(await blockers(good)).toEqual([]));

  it.each<{ given: string; cluster?: Cluster; change?: Change; says: RegExp[] }>([
    {
      given: "no account",
      cluster: {},
      says: [/^AccountNotFound: no Account "default" in namespace team and no ClusterAccount "default": create one/],
    },
    {
      given: "an account without its Secret, which no operator has read",
      cluster: { "Account/default": account(speech, { conditions: [] }) },
      says: [/^SecretNotFound: Secret team\/\S+ does not exist: create it: kubectl create secret generic/],
    },
    {
      given: "an account that is not ready",
      cluster: { "Account/default": account(speech, ready("False", "the service refuses the key")) },
      says: [/^AccountNotReady: Account default is not ready: the service refuses the key$/],
    },
    {
      given: "an exceeded budget",
      cluster: {
        "Account/default": account(
          { ...speech, budget: { monthlyLimit: "5", action: "HoldNew" } },
          ready("True", "", [{ type: "BudgetExceeded", status: "True", reason: "R", message: "5 of 5 yuan" }]),
        ),
      },
      says: [/^BudgetExceeded: 5 of 5 yuan$/],
    },
    {
      given: "a namespace that is not allowed",
      cluster: {
        ...good,
        "ClusterAccount/shared": clusterAccount({ ...speech, allowedNamespaces: { matchLabels: { tier: "gpu" } } }),
      },
      change: { accountRef: { kind: "ClusterAccount", name: "shared" } },
      says: [/^NamespaceNotAllowed: ClusterAccount shared .* kubectl label namespace team tier=gpu --overwrite/],
    },
    {
      given: "a namespace without a share",
      cluster: {
        ...good,
        "ClusterAccount/shared": clusterAccount({
          ...speech,
          shares: [{ name: "gpu", namespaceSelector: { matchLabels: { tier: "gpu" } }, limits: {}, allowed: {} }],
        }),
      },
      change: { accountRef: { kind: "ClusterAccount", name: "shared" } },
      says: [/^ShareNotFound: ClusterAccount shared is divided into shares, and none selects namespace team/],
    },
    {
      given: "what the share of the namespace never allows",
      cluster: {
        ...good,
        "ClusterAccount/shared": clusterAccount({
          ...speech,
          shares: [
            { name: "all", namespaceSelector: {}, requireMaxCost: true, limits: { models: ["vid-i2v"] }, allowed: {} },
          ],
        }),
      },
      change: { accountRef: { kind: "ClusterAccount", name: "shared" } },
      says: [
        /^NotAllowedByShare: model is speech-2.6-hd, and share all allows vid-i2v \(limits.models\)/,
        /^NotAllowedByShare: share all requires maxCost/,
        /^NotAllowedByShare: voiceSetting.voiceID is announcer, and share all allows none \(allowed.voices\)/,
      ],
    },
    {
      given: "a long text and no store",
      change: { text: "x".repeat(55_000), output: { storeRef: { name: "media" } } },
      says: [
        /^InvalidSpec: the text has 55000 characters, speech-2.6-hd takes 1 to 50000: split it$/,
        /^StoreNotReady: ArtifactStore team\/media does not exist: create it/,
      ],
    },
    {
      given: "a store that does not work",
      cluster: { ...good, "ArtifactStore/media": { status: ready("False", "denied") } },
      change: { output: { storeRef: { name: "media" } } },
      says: [/^StoreNotReady: ArtifactStore team\/media is not ready: denied$/],
    },
    {
      given: "a text that is nowhere",
      change: { text: null, textFrom: { configMapKeyRef: { name: "book", key: "one" } } },
      says: [/^ConfigMapNotFound: ConfigMap team\/book does not exist: .* --from-literal=one=VALUE$/],
    },
    {
      given: "no account and no store",
      cluster: {},
      change: { output: { storeRef: { name: "media" } } },
      says: [/^AccountNotFound: .* name another account in spec\.accountRef/, /^StoreNotReady/],
    },
  ])("is told of $given", async ({ cluster = good, change, says }) => {
    const found = await blockers(cluster, change);
    expect(found).toEqual(says.map((pattern) => expect.stringMatching(pattern)));
  });

  const film = (name: string) =>
    videoJobOf("reference", {
      videoToVideo: { input: { audioURL: null, audioFrom: { jobRef: { kind: "SpeechJob", name } } } },
    });
  it("is a source that does not exist, and not one that has not ended or that the user may not read", async () => {
    const cluster: Cluster = {
      ...good,
      "SpeechJob/words": speechJobOf("hd"),
      "SpeechJob/hidden": "Forbidden",
      "SpeechJob/silent": speechJobOf("hd", {}, { conditions: [], phase: "Failed" }),
    };
    expect(await blockers(cluster, film("nowhere"))).toEqual([
      "SourceNotFound: SpeechJob team/nowhere does not exist: create it",
    ]);
    expect(await blockers(cluster, film("silent"))).toEqual([expect.stringMatching(/^SourceFailed: /)]);
    for (const name of ["words", "hidden"]) expect(await blockers(cluster, film(name))).toEqual([]);
  });

  it("is not what the user may not read", async () => {
    const hidden: Cluster = { "Account/default": "Forbidden", "ArtifactStore/media": "Forbidden" };
    expect(await blockers(hidden, { output: { storeRef: { name: "media" } } })).toEqual([]);
  });
});
