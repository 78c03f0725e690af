import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../../src/api/v1alpha1/meta.ts";
import { rfc3339 } from "../../../../../src/base/clock.ts";
import { problemOf } from "../../../../../src/cli/operate/doctor/checks.ts";
import { checkOperator } from "../../../../../src/cli/operate/doctor/operator.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import type { Resource } from "../../../../../src/kube/resource.ts";
import { ended, LEASE_LABELS, LEASE_SELECTOR, type Lease } from "../../../../../src/runtime/lease.ts";
import { createFakeClock, START } from "../../../../support/fake-clock.ts";

const ago = (seconds: number) => rfc3339(START - seconds * 1_000);
/** The lease of a process that renewed it some seconds ago. */
const lease = (seconds: number, name = "mooring-0", annotations: Record<string, string> = {}): Lease => ({
  metadata: { name, namespace: "mooring-system", labels: { ...LEASE_LABELS }, annotations },
  spec: { holderIdentity: name, renewTime: ago(seconds) },
});
type Server = { lease: string; released?: string };
const account = (name: string, server?: Server) => ({
  metadata: { name, namespace: "team-a" },
  spec: { apiKeySecretRef: { name: "key", key: "apiKey" } },
  status: server === undefined ? {} : { server: { namespace: "mooring-system", since: ago(60), ...server } },
});
type Listed = Lease | Omit<ReturnType<typeof account>, "metadata">;

function findings(objects: Record<string, Listed[] | "Forbidden" | "Initializing">) {
  const list = async ({ plural }: Resource, _: object, options?: { query?: Record<string, string> }) => {
    const items = objects[plural] ?? [];
    if (items === "Forbidden") throw new KubeError("no", { status: 403, reason: "Forbidden" });
    if (items === "Initializing") throw new KubeError(`list ${plural}: storage is (re)initializing`, { status: 429 });
    if (plural === "leases") expect(options?.query).toEqual({ labelSelector: LEASE_SELECTOR });
    return { metadata: {}, items } as never;
  };
  return checkOperator({ list }, createFakeClock());
}

async function check(objects: Parameters<typeof findings>[0]) {
  const [finding, ...others] = await findings(objects);
  expect(others).toEqual([]);
  return finding;
}

describe("mooring doctor and the operator", () => {
  it("a lease that was renewed a moment ago shows that one runs", async () => {
    expect(await check({ leases: [lease(5)] })).toEqual({
      level: "ok",
      message: "operator process mooring-0 in namespace mooring-system serves 0 accounts",
    });
  });

  it("without the right to list the leases, nobody knows", async () => {
    expect(await check({ leases: "Forbidden" })).toEqual({
      level: "warn",
      message: "whether an operator runs is unknown: no",
    });
  });

  it("an operator that has stopped is bad, with the time and where to look", async () => {
    expect(await check({ leases: [lease(600)] })).toEqual({
      level: "bad",
      message:
        "no operator runs since 2026-02-28T23:50:00Z: nothing is reconciled. Look at: kubectl get pods -n mooring-system",
    });
  });

  it("an API server that cannot list the leases yet is a warning, and the other checks go on", async () => {
    expect(await check({ leases: "Initializing" })).toEqual({
      level: "warn",
      message: "whether an operator runs is unknown: list leases: storage is (re)initializing",
    });
  });

  it("without any sign of one, it warns", async () => {
    expect(await check({})).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/^no operator has been seen/),
    });
  });
});

describe("mooring doctor and the processes of an operator", () => {
  const serves = (name: string, what: string) => ({
    level: "ok",
    message: `operator process ${name} in namespace mooring-system serves ${what}`,
  });
  const notServed = (name: string, why: string) => ({
    level: "bad",
    message: `Account team-a/${name} is not served: process ${why}. Another one takes it over within 20 s. If not, look at: kubectl logs -n mooring-system -l app.kubernetes.io/name=mooring`,
  });

  it.each([
    {
      given: "two processes and three accounts",
      leases: [lease(1), lease(2, "mooring-1")],
      accounts: ["mooring-0", "mooring-1", "mooring-0"].map((name, index) => account(`a${index}`, { lease: name })),
      expected: [serves("mooring-0", "2 accounts"), serves("mooring-1", "1 account")],
    },
    {
      given: "an account whose process was killed",
      leases: [lease(1), lease(600, "mooring-1")],
      accounts: [account("a", { lease: "mooring-1" })],
      expected: [
        serves("mooring-0", "0 accounts"),
        notServed("a", "mooring-1 in namespace mooring-system does not run"),
      ],
    },
    {
      given: "an account whose process has stopped a moment ago",
      leases: [lease(1), ended(lease(1, "mooring-1"))],
      accounts: [account("a", { lease: "mooring-1", released: ago(1) })],
      expected: [
        serves("mooring-0", "0 accounts"),
        notServed("a", "mooring-1 in namespace mooring-system released it at 2026-02-28T23:59:59Z"),
      ],
    },
    {
      given: "an account that no object has needed yet",
      leases: [lease(1)],
      accounts: [account("a")],
      expected: [serves("mooring-0", "0 accounts")],
    },
    {
      given: "ClusterAccounts, of which only the second one is needed",
      leases: [lease(1)],
      accounts: ["a", "b"].map((name, index) => {
        const { spec, metadata, ...others } = account(name, { lease: "mooring-1", released: ago(1) });
        const apiKeySecretRef = { ...spec.apiKeySecretRef, namespace: "mooring-system" };
        const finalizers = index === 0 ? [] : [FINALIZER];
        return { ...others, metadata: { name: metadata.name, finalizers }, spec: { apiKeySecretRef } };
      }),
      expected: [
        serves("mooring-0", "0 accounts"),
        expect.objectContaining({ level: "bad", message: expect.stringContaining("ClusterAccount b is not served") }),
      ],
    },
    {
      given: "a cleanup",
      leases: [lease(1, "cleanup-0", { "mooring.dev/excludes": "true" })],
      accounts: [],
      expected: [
        {
          level: "warn",
          message:
            "mooring cleanup runs in namespace mooring-system: no operator there takes an account before it ends",
        },
      ],
    },
    {
      given: "processes that were all killed",
      leases: [lease(600), lease(700, "mooring-1")],
      accounts: [account("a", { lease: "mooring-1" })],
      expected: [
        {
          level: "bad",
          message:
            "no operator runs since 2026-02-28T23:50:00Z: nothing is reconciled. Look at: kubectl get pods -n mooring-system",
        },
      ],
    },
  ])("$given", async ({ leases, accounts, expected }) => {
    expect(await findings({ leases, accounts })).toEqual(expected);
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
