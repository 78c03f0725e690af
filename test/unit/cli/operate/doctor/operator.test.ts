import { describe, expect, it } from "vitest";
import { rfc3339 } from "../../../../../src/base/clock.ts";
import { problemOf } from "../../../../../src/cli/operate/doctor/checks.ts";
import { checkOperator } from "../../../../../src/cli/operate/doctor/operator.ts";
import { KubeError } from "../../../../../src/kube/errors.ts";
import type { Resource } from "../../../../../src/kube/resource.ts";
import { leaseNameOf } from "../../../../../src/operator/shard.ts";
import { SHARD_COUNT } from "../../../../../src/operator/shard-leases.ts";
import { createFakeClock, START } from "../../../../support/fake-clock.ts";

const ago = (seconds: number) => rfc3339(START - seconds * 1_000);
const lease = (seconds: number) => ({
  metadata: { name: leaseNameOf(0), namespace: "mooring-system" },
  spec: { renewTime: ago(seconds) },
});
/** The lease of a shard. `count`: the number of shards of the last holder. `held`: seconds for which the holder has had it. */
const shardLease = (index: number, { count = 3, renewed = 1, held = 60 as number | "Released" } = {}) => ({
  metadata: {
    name: leaseNameOf(index),
    namespace: "mooring-system",
    annotations: { [SHARD_COUNT]: String(count) },
  },
  spec: {
    holderIdentity: held === "Released" ? "" : `pod-${index}`,
    acquireTime: ago(held === "Released" ? renewed : held),
    renewTime: ago(renewed),
  },
});
type Listed = { metadata: { name: string } };

function findings(objects: Record<string, Listed[] | "Forbidden" | "Initializing">) {
  const list = async ({ plural }: Resource, _: object, options?: { query?: Record<string, string> }) => {
    const items = objects[plural] ?? [];
    if (items === "Forbidden") throw new KubeError("no", { status: 403, reason: "Forbidden" });
    if (items === "Initializing") throw new KubeError(`list ${plural}: storage is (re)initializing`, { status: 429 });
    const selector = options?.query?.["fieldSelector"];
    const selected = items.filter(
      ({ metadata }) => (selector ?? `metadata.name=${metadata.name}`) === `metadata.name=${metadata.name}`,
    );
    return { metadata: {}, items: selected } as never;
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
      message: "an operator runs, in namespace mooring-system",
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

describe("mooring doctor and the shards of an operator", () => {
  const missing = (shard: number, lease: string) => ({
    level: "bad",
    message: `shard ${shard} of 3 has no leader (${lease}): objects of its accounts are not reconciled. Look at: kubectl get pods -n mooring-system -l mooring.dev/shard=${shard}`,
  });
  const [first, second, third] = [shardLease(0), shardLease(1), shardLease(2)];
  const complete = {
    level: "ok",
    message: "an operator runs, in namespace mooring-system; each of its 3 shards has a leader",
  };

  it.each([
    { given: "three leaders", leases: [first, second, third], expected: [complete] },
    {
      given: "a shard whose leader stopped ten minutes ago",
      leases: [first, shardLease(1, { renewed: 600 }), third],
      expected: [missing(1, "its lease mooring-operator-shard-1 was last renewed at 2026-02-28T23:50:00Z")],
    },
    {
      given: "a shard that never had a pod",
      leases: [first, second],
      expected: [missing(2, "its lease mooring-operator-shard-2 does not exist")],
    },
    {
      given: "only the last shard",
      leases: [third],
      expected: [
        missing(0, "its lease mooring-operator does not exist"),
        missing(1, "its lease mooring-operator-shard-1 does not exist"),
      ],
    },
    {
      given: "a process of one shard that takes and releases lease 0, while shards 1 and 2 of 3 lead",
      leases: [shardLease(0, { count: 1, held: 1 }), second, third],
      expected: [missing(0, "its lease mooring-operator is used by a process with another number of shards: 1")],
    },
    {
      given: "a leader that has just released its lease during a rollout",
      leases: [first, shardLease(1, { held: "Released", renewed: 5 }), third],
      expected: [complete],
    },
    {
      given: "one shard after a reduction from three",
      leases: [
        shardLease(0, { count: 1 }),
        shardLease(1, { held: "Released", renewed: 600 }),
        shardLease(2, { held: "Released", renewed: 20 }),
      ],
      expected: [{ level: "ok", message: "an operator runs, in namespace mooring-system" }],
    },
    {
      given: "no leader at all",
      leases: [first, second, third].map((_, index) => shardLease(index, { renewed: 600 })),
      expected: [
        {
          level: "bad",
          message:
            "no operator runs since 2026-02-28T23:50:00Z: nothing is reconciled. Look at: kubectl get pods -n mooring-system",
        },
      ],
    },
  ])("$given", async ({ leases, expected }) => {
    expect(await findings({ leases })).toEqual(expected);
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
