import { describe, expect, it } from "vitest";
import { type LabelSelector, namespaceRefusal } from "../../../../src/controllers/account/namespaces.ts";

const refused = (selector: LabelSelector, labels: Record<string, string> = {}) =>
  namespaceRefusal("shared", selector, "team-a", labels);
const label = (args: string) =>
  `ClusterAccount shared does not allow namespace team-a: label the namespace: kubectl label namespace team-a ${args} --overwrite , or use another account`;

describe("a ClusterAccount that does not allow a namespace", () => {
  it.each<{ given: string; selector: LabelSelector; labels?: Record<string, string>; args: string }>([
    { given: "a label that is missing", selector: { matchLabels: { tier: "gpu" } }, args: "tier=gpu" },
    {
      given: "a label with another value",
      selector: { matchLabels: { tier: "gpu", team: "a" } },
      labels: { tier: "cpu", team: "a" },
      args: "tier=gpu",
    },
    {
      given: "expressions",
      selector: {
        matchExpressions: [
          { key: "stage", operator: "In", values: ["dev", "test"] },
          { key: "mooring.dev/uses", operator: "Exists" },
          { key: "closed", operator: "DoesNotExist" },
        ],
      },
      labels: { closed: "" },
      args: "stage=dev mooring.dev/uses=true closed-",
    },
  ])("says how to label it: $given", ({ selector, labels, args }) => {
    expect(refused(selector, labels)).toBe(label(args));
  });

  it.each<LabelSelector>([
    { matchLabels: { "kubernetes.io/metadata.name": "team-b" } },
    { matchLabels: { "a;rm -rf": "x" } },
  ])("has no command when none helps, or is safe to paste: %j", (selector) => {
    expect(refused(selector)).toBe(
      "ClusterAccount shared does not allow namespace team-a: change spec.allowedNamespaces of the ClusterAccount, or use another account",
    );
  });

  it("is none when the labels match", () => {
    expect(refused({ matchLabels: { tier: "gpu" } }, { tier: "gpu" })).toBeUndefined();
    expect(refused({})).toBeUndefined();
  });
});
