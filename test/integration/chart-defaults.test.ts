import { beforeAll, describe, expect, it } from "vitest";
import { type Rendered, render } from "../support/chart.ts";

/** The defaults that docs/explanation/security.md promises. */
describe("without values, the chart", () => {
  let objects: Rendered[];
  const specOf = (kind: string) =>
    objects.find((object) => object.kind === kind)?.["spec"] ?? expect.fail(`there is no ${kind}`);
  const container = () => {
    const { template } = specOf("Deployment") as { template: { spec: { containers: Record<string, unknown>[] } } };
    return template.spec.containers[0] ?? expect.fail("there is no container");
  };

  beforeAll(async () => {
    objects = await render("mooring-system");
  });

  it("lets only scrapes of metrics reach the operator", () => {
    expect(specOf("NetworkPolicy")).toMatchObject({
      policyTypes: ["Ingress"],
      ingress: [{ ports: [{ protocol: "TCP", port: 8080 }] }],
    });
  });

  it("does not allow private addresses to tenants", () => {
    expect(container()["args"]).not.toContainEqual(expect.stringContaining("--allow-private-networks"));
  });

  it("runs the operator as a user without capabilities, on a read-only file system", () => {
    const { template } = specOf("Deployment") as { template: { spec: { securityContext: object } } };
    expect(template.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container()["securityContext"]).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  });

  it("checks who adopts and observes endpoints, and which Secrets a ClusterAccount names", () => {
    const bindings = objects.filter(({ kind }) => kind === "ValidatingAdmissionPolicyBinding");
    expect(bindings.map(({ spec }) => spec)).toEqual([
      { policyName: "mooring-system-mooring-account-secrets", validationActions: ["Deny"] },
      { policyName: "mooring-system-mooring-endpoint-takeover", validationActions: ["Deny"] },
    ]);
  });
});
