import { expect, it } from "vitest";
import { unreadShare } from "../../../../../src/cli/use/plan/unread-share.ts";
import type { KubeClient } from "../../../../../src/kube/client.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import { speechJobOf } from "../../../../support/jobs.ts";

const UNREAD = "not checked: the limits and lists of a share, because you may not read the account";
const job = speechJobOf("hd", { accountRef: { kind: "ClusterAccount", name: "shared" } });
const data = { account: "shared", share: "film", weight: "3", tasks: "2 of 30", models: "vid-i2v", asOf: "2026-01-01" };
const owned = (kind: string, change: object = {}) => ({
  metadata: { name: "mooring-share", ownerReferences: [{ kind, name: "shared" }] },
  data: { ...data, ...change },
});

function told(items: object[] | "Forbidden"): Promise<string> {
  const list = async () => {
    if (items === "Forbidden") throw new KubeError("no", { status: 403, reason: "Forbidden" });
    return { items, metadata: {} };
  };
  const kube = { list } as unknown as KubeClient;
  return unreadShare({ kube, signal: new AbortController().signal }, job);
}

it("a plan of a user who may not read the account says what the ConfigMap of the share shows", async () => {
  expect(await told([{ metadata: { name: "other" }, data: {} }, owned("ClusterAccount")])).toBe(
    `${UNREAD}; ConfigMap mooring-share shows of share film at 2026-01-01: tasks 2 of 30; models vid-i2v`,
  );
});

it.each([
  { given: "no ConfigMap", items: [] },
  { given: "one of another account", items: [owned("ClusterAccount", { account: "other" })] },
  { given: "one that the operator did not write", items: [owned("GpuEndpoint")] },
  { given: "ConfigMaps that the user may not read", items: "Forbidden" as const },
])("with $given, it says only that the share was not checked", async ({ items }) => {
  expect(await told(items)).toBe(UNREAD);
});
