import { describe, expect, it } from "vitest";
import { JOB_KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { kindOf, objectWords, readNamed } from "../../../src/cli/object-argument.ts";
import type { KubeClient } from "../../../src/kube/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import type { Place, Resource } from "../../../src/kube/resource.ts";
import { storedMeta } from "../../support/stored-meta.ts";

describe("an object as an argument", () => {
  it.each([
    { words: ["speechjob/hello"], kind: "SpeechJob" },
    { words: ["SpeechJobs/hello"], kind: "SpeechJob" },
    { words: ["gpuep", "hello"], kind: "GpuEndpoint" },
    { words: ["clusteraccount.mooring.dev/hello"], kind: "ClusterAccount" },
    { words: ["hello"], kind: undefined },
  ])("$words is a $kind", ({ words, kind }) => {
    const { resource, name } = objectWords(words);
    expect([resource?.kind, name]).toEqual([kind, "hello"]);
  });

  it.each([
    { words: ["pod/a/b"], message: '"pod/a/b" does not name an object: write KIND/NAME, KIND NAME, or NAME' },
    { words: ["speechjob/"], message: '"speechjob/" does not name an object' },
    { words: ["a", "b", "c"], message: '"a b c" does not name an object' },
    {
      words: ["pod/hello"],
      message:
        '"pod" is not a kind of Mooring: use one of gpuendpoint, speechjob, videojob, mediabatch, account, clusteraccount, billreport, artifactstore',
    },
    { words: ["gpuendpont/hello"], message: '"gpuendpont" is not a kind of Mooring: did you mean gpuendpoint?' },
  ])("$words is refused", ({ words, message }) => {
    expect(() => objectWords(words)).toThrow(message);
  });

  it("is refused where the command takes other kinds", () => {
    expect(() => kindOf("account", JOB_KINDS)).toThrow(
      "not a kind that this command takes: use one of speechjob, videojob",
    );
  });
});

/** A cluster with these objects, as `KIND/NAME`; each in namespace `team` or cluster-wide. */
function clusterWith(...objects: string[]) {
  const get = async ({ kind, namespaced }: Resource, { namespace, name = "" }: Place) => {
    if (objects.includes(`${kind}/${name}`) && (!namespaced || namespace === "team"))
      return { metadata: storedMeta({ name, ...(namespaced ? { namespace: "team" } : {}) }), spec: {} };
    throw new KubeError("no such object", { status: 404, reason: "NotFound" });
  };
  return { kube: { get } as Pick<KubeClient, "get"> as KubeClient, namespace: "team" };
}

describe("reading the object that a user names", () => {
  it("finds a name of any kind", async () => {
    const found = await readNamed(clusterWith("VideoJob/sea"), objectWords(["sea"]));
    expect(found.resource.kind).toBe("VideoJob");
    expect((await readNamed(clusterWith("ClusterAccount/main"), objectWords(["main"]))).resource.kind).toBe(
      "ClusterAccount",
    );
  });

  it("asks which one, when a name means several", async () => {
    const cluster = clusterWith("VideoJob/sea", "SpeechJob/sea");
    await expect(readNamed(cluster, objectWords(["sea"]))).rejects.toThrow(
      '"sea" names several objects: write one of speechjob/sea, videojob/sea',
    );
    expect((await readNamed(cluster, objectWords(["videojob", "sea"]))).resource.kind).toBe("VideoJob");
  });

  it.each([
    {
      words: ["sea"],
      message:
        'no object "sea" (gpuendpoint, speechjob, videojob, mediabatch, account, clusteraccount, billreport, artifactstore) exists in namespace team. To list what does: mooring status -n team',
    },
    {
      words: ["videojob/sea"],
      message: "VideoJob team/sea does not exist. To list those that do: mooring status videojobs -n team",
    },
    {
      words: ["clusteraccount/sea"],
      message: "ClusterAccount sea does not exist. To list those that do: mooring status clusteraccounts",
    },
  ])("says how to list what exists instead of $words", async ({ words, message }) => {
    await expect(readNamed(clusterWith(), objectWords(words))).rejects.toThrow(new Error(message));
  });
});
