import { describe, expect, it } from "vitest";
import { problemOf } from "../../../src/cli/doctor-checks.ts";
import { checkOperator } from "../../../src/cli/doctor-operator.ts";
import { rfc3339 } from "../../../src/clock.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import type { Resource } from "../../../src/kube/resource.ts";
import { createFakeClock, START } from "../../support/fake-clock.ts";

const ago = (seconds: number) => rfc3339(START - seconds * 1_000);
const lease = (seconds: number) => ({
  metadata: { name: "l", namespace: "mooring-system" },
  spec: { renewTime: ago(seconds) },
});
const account = (seconds: number) => ({
  metadata: { name: "default", namespace: "team" },
  status: { conditions: [], claim: { installation: "other-system", renewTime: ago(seconds) } },
});

function check(objects: Record<string, object[] | "Forbidden">) {
  const list = async ({ plural }: Resource) => {
    const items = objects[plural] ?? [];
    if (items === "Forbidden") throw new KubeError("no", { status: 403, reason: "Forbidden" });
    return { metadata: {}, items } as never;
  };
  return checkOperator({ list }, createFakeClock(), undefined);
}

describe("mooring doctor and the operator", () => {
  it("a lease or a claim that was renewed a moment ago shows that one runs", async () => {
    expect(await check({ leases: [lease(5)] })).toEqual({
      level: "ok",
      message: "an operator runs, in namespace mooring-system",
    });
    expect(await check({ leases: "Forbidden", accounts: [account(30)] })).toMatchObject({ level: "ok" });
    expect(await check({ leases: [lease(900)], clusteraccounts: [account(1)] })).toMatchObject({
      message: "an operator runs, in namespace other-system",
    });
  });

  it("an operator that has stopped is bad, with the time and where to look", async () => {
    expect(await check({ leases: [lease(600)], accounts: [account(700)] })).toEqual({
      level: "bad",
      message:
        "no operator runs since 2026-02-28T23:50:00Z: nothing is reconciled. Look at: kubectl get pods -n mooring-system",
    });
  });

  it("without any sign of one, it warns", async () => {
    expect(await check({})).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/^no operator has been seen/),
    });
  });
});

describe("mooring doctor and the conditions of an account", () => {
  const condition = (type: string, status: "True" | "False", reason: string) => ({
    type,
    status,
    reason,
    message: "m",
    lastTransitionTime: ago(0),
  });
  it.each([
    [[condition("Ready", "False", "AddressNotAllowed")], "bad"],
    [[condition("Ready", "True", "Ready"), condition("Contested", "True", "Contested")], "bad"],
    [[condition("BudgetExceeded", "True", "BudgetExceeded")], "warn"],
    [[condition("EndpointsListed", "False", "ListUnreadable")], "warn"],
  ] as const)("%j is %s, although the service takes the key", (conditions, level) => {
    const reason = conditions.at(-1)?.reason;
    expect(problemOf(conditions, "taken")).toEqual({ level, message: `taken, but the operator reports ${reason}: m` });
  });
  it("an account that is ready, or that no operator has reconciled, has no problem", () => {
    expect(
      problemOf([condition("Ready", "True", "Ready"), condition("BudgetExceeded", "False", "WithinBudget")], "t"),
    ).toBeUndefined();
    expect(problemOf([], "t")).toBeUndefined();
  });
});
