import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GpuEndpoint } from "../../../../src/api/v1alpha1/gpu-endpoint.ts";
import type { FieldHistory } from "../../../../src/controllers/gpu-endpoint/attempts.ts";
import type { Binding, Facts, Plan } from "../../../../src/controllers/gpu-endpoint/facts.ts";
import { ignoredFields, withIgnored } from "../../../../src/controllers/gpu-endpoint/fields.ts";
import { planEndpoint } from "../../../../src/controllers/gpu-endpoint/plan.ts";
import type { EndpointRecord } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { desiredOf, endpointOf, LIMITS, recordOf } from "../../../support/endpoints.ts";
import { START } from "../../../support/fake-clock.ts";
import type { Change } from "../../../support/manifests.ts";

type Remote = (record: EndpointRecord) => EndpointRecord;
const same: Remote = (record) => record;
const otherImage: Remote = (record) => ({ ...record, image: "registry.example.com/other:2" });
const otherRootfs: Remote = (record) => ({ ...record, rootfsSizeGB: 50 });

function plan(change: Change, binding: (endpoint: GpuEndpoint) => Binding, facts: Partial<Facts> = {}): Plan {
  const endpoint = endpointOf(change);
  return planEndpoint({
    spec: endpoint.spec,
    desired: desiredOf(endpoint),
    binding: binding(endpoint),
    limits: LIMITS,
    applied: true,
    resuming: false,
    history: history({}),
    vanished: () => 0,
    seenByNoKey: false,
    creates: [],
    heldByRestore: undefined,
    requestCommand: "kubectl annotate",
    requested: false,
    now: START,
    ...facts,
  });
}

const history =
  (change: Partial<FieldHistory>): Facts["history"] =>
  () => ({ confirmed: 0, unconfirmed: 0, sinceMs: 3_600_000, ...change });
const reverted = (confirmed: number, sinceMs = 3_600_000): Partial<Facts> => ({
  history: history({ confirmed, sinceMs }),
});
const ignored = (unconfirmed: number, sinceMs: number): Partial<Facts> => ({
  history: history({ unconfirmed, sinceMs }),
});

const summary = (result: Plan): string =>
  result.action === "Stall"
    ? `Stall ${result.reason}`
    : result.action === "None" && result.fighting
      ? "None, fighting"
      : result.action;

const unbound =
  (candidate?: Remote) =>
  (endpoint: GpuEndpoint): Binding => ({
    kind: "Unbound",
    candidate: candidate?.(recordOf(desiredOf(endpoint))),
    adopt: undefined,
  });
const adopting =
  (remote: Remote | "NotFound") =>
  (endpoint: GpuEndpoint): Binding => ({
    kind: "Unbound",
    candidate: undefined,
    adopt: remote === "NotFound" ? remote : remote(recordOf(desiredOf(endpoint), { appName: "theirs" })),
  });
const unknown =
  (
    agoMs: number,
    candidate?: Remote,
    key: Extract<Binding, { kind: "CreateUnknown" }>["key"] = "Same",
    accepted = false,
  ) =>
  (endpoint: GpuEndpoint): Binding => ({
    kind: "CreateUnknown",
    candidate: candidate?.(recordOf(desiredOf(endpoint))),
    accepted,
    key,
    sentAt: START - agoMs,
    unknownForMs: agoMs,
  });
const bound =
  (remote: Remote) =>
  (endpoint: GpuEndpoint): Binding => ({
    kind: "Bound",
    endpointID: "ep-1",
    record: remote(recordOf(desiredOf(endpoint))),
    fresh: true,
    provenGone: false,
  });
const missing =
  (provenGone: boolean, candidate?: Remote) =>
  (endpoint: GpuEndpoint): Binding => ({
    kind: "Bound",
    endpointID: "ep-1",
    record: undefined,
    candidate: candidate?.(recordOf(desiredOf(endpoint))),
    fresh: true,
    provenGone,
  });

const chosen = { appName: "chosen" };
const observe = { managementPolicy: "Observe" };
const adopt = (mode: string, more: Change = {}) => ({ adoption: { endpointID: "ep-1", mode }, ...more });
const tooMany = { workers: { max: 11 } };

describe("an endpoint that was never created", () => {
  it.each([
    ["is created", {}, unbound(), "Create"],
    ["is created under the app name that the user chose", chosen, unbound(), "Create"],
    ["with our generated app name at the remote is bound to it", {}, unbound(same), "Bind"],
    [
      "with our generated app name is bound although it differs; the next step updates it",
      {},
      unbound(otherImage),
      "Bind",
    ],
    ["with the chosen app name at the remote is somebody else's", chosen, unbound(same), "Stall AppNameTaken"],
    ["is only looked at under Observe, so a chosen name is enough", { ...chosen, ...observe }, unbound(same), "Bind"],
    ["is never created under Observe", observe, unbound(), "Stall AdoptionNotFound"],
    ["outside the account's limits is not sent", tooMany, unbound(), "Stall OutOfRange"],
    ["may start suspended whatever the limits of workers are", { ...tooMany, suspend: true }, unbound(), "Create"],
  ])("%s", (_name, change, binding, expected) => {
    expect(summary(plan(change, binding))).toBe(expected);
  });

  it("names three of the other endpoints with its app name", () => {
    const others = ["b", "c", "d", "e"];
    const taken = plan(chosen, (endpoint) => ({ ...unbound(same)(endpoint), others }) as Binding);
    expect(taken).toMatchObject({ message: expect.stringContaining(" and 4 more (b, c, d), which") });
  });

  it("is created when the limits are not known", () => {
    expect(summary(plan(tooMany, unbound(), { limits: undefined }))).toBe("Create");
  });

  it.each([
    ["that does not exist is not created", unbound(), "Stall EtcdRestored"],
    ["that exists is bound", unbound(same), "Bind"],
    ["whose create is unknown is looked for first", unknown(0), "LookAgain"],
    ["whose create is unknown is not created again", unknown(60_000), "Stall EtcdRestored"],
  ])("%s while etcd was restored since", (_name, binding, expected) => {
    expect(summary(plan({}, binding, { heldByRestore: "etcd was restored" }))).toBe(expected);
  });

  it("says which field is outside which range", () => {
    expect(plan(tooMany, unbound())).toMatchObject({
      message: "outside the limits of the account: workers.max is 11, allowed is 0 to 10: change the spec",
    });
  });
});

describe("a create whose answer was lost", () => {
  it.each([
    ["is looked for", {}, unknown(0), "LookAgain"],
    ["is looked for up to 60 s", {}, unknown(59_999), "LookAgain"],
    ["did not happen when nothing shows after 60 s", {}, unknown(60_000), "Create"],
    [
      "is not sent again when the service accepted it, though nothing shows",
      {},
      unknown(60_000, undefined, "Same", true),
      "Stall RemoteMissing",
    ],
    ["is found when the service accepted it", {}, unknown(60_000, same, "Same", true), "Bind"],
    ["is not sent again when the limits have changed meanwhile", tooMany, unknown(60_000), "Stall OutOfRange"],
    [
      "is not sent again when another key does not show it",
      {},
      unknown(60_000, undefined, "Other"),
      "Stall RemoteMissing",
    ],
    [
      "is looked for again when the key changed during the search",
      {},
      unknown(60_000, undefined, "Changed"),
      "LookAgain",
    ],
    ["is found with another key, too", {}, unknown(60_000, same, "Other"), "Bind"],
    ["is found by its generated app name", {}, unknown(1_000, same), "Bind"],
    ["is found long after, too", {}, unknown(600_000, same), "Bind"],
    ["under a chosen name is ours when name, spec and age fit", chosen, unknown(1_000, same), "Bind"],
    ["under a chosen name is not ours when the spec differs", chosen, unknown(1_000, otherImage), "Stall AppNameTaken"],
    [
      "under a chosen name is not ours when the name differs",
      chosen,
      unknown(1_000, (record) => ({ ...record, name: "theirs" })),
      "Stall AppNameTaken",
    ],
    [
      "under a chosen name is ours when it is younger than the request",
      chosen,
      unknown(10_000, (record) => ({ ...record, createdAt: START / 1000 - 9 })),
      "Bind",
    ],
    [
      "under a chosen name is ours although the remote's clock is 5 s behind",
      chosen,
      unknown(10_000, (record) => ({ ...record, createdAt: START / 1000 - 15 })),
      "Bind",
    ],
    [
      "under a chosen name is not ours when it is older than the request",
      chosen,
      unknown(10_000, (record) => ({ ...record, createdAt: START / 1000 - 16 })),
      "Stall AppNameTaken",
    ],
  ])("%s", (_name, change, binding, expected) => {
    expect(summary(plan(change, binding))).toBe(expected);
  });
});

describe("an adoption", () => {
  it.each([
    [
      "of an endpoint that does not exist waits for a person",
      adopt("Match"),
      adopting("NotFound"),
      "Stall AdoptionNotFound",
    ],
    ["by Match binds what equals the spec, whatever its app name", adopt("Match"), adopting(same), "Bind"],
    ["by Match refuses what differs", adopt("Match"), adopting(otherImage), "Stall AdoptionMismatch"],
    [
      "by Match refuses what differs in an ignored field only",
      adopt("Match", { ignoreDrift: ["image"] }),
      adopting(otherImage),
      "Stall AdoptionMismatch",
    ],
    [
      "by Match under Observe binds what differs: nothing is written",
      adopt("Match", observe),
      adopting(otherImage),
      "Bind",
    ],
    ["by Override binds what differs", adopt("Override"), adopting(otherImage), "Bind"],
  ])("%s", (_name, change, binding, expected) => {
    expect(summary(plan(change, binding))).toBe(expected);
  });

  it("names the fields and no value of the endpoint when it refuses", () => {
    const theirs: Remote = (record) => ({
      ...record,
      image: "registry.example.com/other:2",
      command: "serve --password p4ss",
      envs: [{ key: "TOKEN", value: "s3cr3t" }],
    });
    const refused = plan(adopt("Match", { env: [{ name: "TOKEN", value: "x" }] }), adopting(theirs));
    expect(refused).toMatchObject({
      message: expect.stringContaining("differs in image, command, env: "),
      differences: [],
    });
    expect(JSON.stringify(refused)).not.toMatch(/other:2|p4ss|s3cr3t/);
  });
});

const theirWorkers = { ignoreDrift: ["workers"] };
const withWorkers =
  (min: number, max: number): Remote =>
  (record) => ({ ...record, scaling: { ...record.scaling, min, max } });
const stoppedWorkers = withWorkers(0, 0);
const running = withWorkers(1, 2);

describe("an endpoint that exists", () => {
  it.each<[string, Change, Remote, Partial<Facts>, string]>([
    ["and equals the spec is left alone", {}, same, {}, "None"],
    ["and was changed elsewhere is put back", {}, otherImage, {}, "Update"],
    ["gets a changed spec", {}, otherImage, { applied: false }, "Update"],
    ["and was changed elsewhere is only reported under Report", { driftPolicy: "Report" }, otherImage, {}, "None"],
    ["gets a changed spec under Report", { driftPolicy: "Report" }, otherImage, { applied: false }, "Update"],
    ["is never written under Observe", observe, otherImage, { applied: false }, "None"],
    ["and differs in an ignored field only is left alone", { ignoreDrift: ["image"] }, otherImage, {}, "None"],
    ["and differs in what no update can change is left alone", {}, otherRootfs, { applied: false }, "None"],
    ["is updated a third time", {}, otherImage, reverted(2), "Update"],
    ["whose updates are undone three times is not fought over", {}, otherImage, reverted(3), "None, fighting"],
    ["gets time to show an update", {}, otherImage, reverted(2, 19_999), "None"],
    ["gets no more than that", {}, otherImage, reverted(2, 20_000), "Update"],
    ["gets time to show the first update", {}, otherImage, ignored(1, 9_999), "None"],
    ["is updated again when it does not show it", {}, otherImage, ignored(1, 10_000), "Update"],
    ["that does not apply updates gets them with backoff", {}, otherImage, ignored(3, 39_999), "None"],
    ["that does not apply updates is never taken for a fight", {}, otherImage, ignored(3, 40_000), "Update"],
    ["that never applied any gets one every 10 minutes", {}, otherImage, ignored(40, 599_999), "None"],
    ["that never applied any gets one for ever", {}, otherImage, ignored(40, 600_000), "Update"],
    ["is not sent what is outside the limits", tooMany, otherImage, {}, "Stall OutOfRange"],
    [
      "may have outside the limits what another party owns",
      { workers: { min: 11, max: 11 }, ignoreDrift: ["workers"] },
      (record) => ({ ...otherImage(record), scaling: { ...record.scaling, min: 1, max: 2 } }),
      {},
      "Update",
    ],
    [
      "gets its workers again after a suspend, though others own them",
      theirWorkers,
      stoppedWorkers,
      { resuming: true },
      "Update",
    ],
    ["keeps the workers that others own", theirWorkers, stoppedWorkers, {}, "None"],
    ["is suspended though others own its workers", { ...theirWorkers, suspend: true }, running, {}, "Update"],
    ["is suspended whatever the limits of workers are", { ...tooMany, suspend: true }, otherImage, {}, "Update"],
  ])("%s", (_name, change, remote, facts, expected) => {
    expect(summary(plan(change, bound(remote), facts))).toBe(expected);
  });

  it("names the fields whose update has no effect, after the second update", () => {
    expect(plan({}, bound(otherImage), ignored(1, 0))).toMatchObject({ notApplied: [], lookAgainMs: 10_000 });
    expect(plan({}, bound(otherImage), ignored(2, 0))).toMatchObject({ notApplied: ["image"], lookAgainMs: 20_000 });
  });

  it("is updated because of one field at once while another one waits", () => {
    const facts: Partial<Facts> = {
      history: (field) => ({
        confirmed: 0,
        unconfirmed: field === "image" ? 9 : 0,
        sinceMs: field === "image" ? 1 : Infinity,
      }),
    };
    expect(
      summary(
        plan(
          {},
          bound((record) => otherImage({ ...record, name: "theirs" })),
          facts,
        ),
      ),
    ).toBe("Update");
    expect(summary(plan({}, bound(otherImage), facts))).toBe("None");
  });

  it("shows every difference, also those that no update can change", () => {
    const result = plan(
      {},
      bound((record) => otherRootfs(otherImage(record))),
    );
    expect(result).toMatchObject({ action: "Update", differences: [{ field: "image" }, { field: "rootfsSizeGB" }] });
  });
});

describe("an endpoint of an account whose budget holds new work back", () => {
  const refusal = { reason: "BudgetExceeded", message: "Key a has 0 yuan left" } as const;
  const held: Partial<Facts> = { budget: () => refusal, applied: false };

  it.each<[string, Change, (endpoint: GpuEndpoint) => Binding, string]>([
    ["is not created", {}, unbound(), "AwaitBudget"],
    ["is created without workers", { suspend: true }, unbound(), "Create"],
    ["is not created again", {}, missing(true), "AwaitBudget"],
    ["is bound when it exists", {}, unbound(same), "Bind"],
    ["gets no more workers", {}, bound(withWorkers(0, 1)), "AwaitBudget"],
    ["gets no workers after a suspend", {}, bound(stoppedWorkers), "AwaitBudget"],
    ["is suspended", { suspend: true }, bound(running), "Update"],
    ["gets fewer workers", {}, bound(withWorkers(3, 9)), "Update"],
    ["gets another image", {}, bound(otherImage), "Update"],
    ["that others scale is left alone", theirWorkers, bound(stoppedWorkers), "None"],
    ["is only observed under Observe", observe, bound(stoppedWorkers), "None"],
  ])("%s", (_name, change, binding, expected) => {
    expect(summary(plan(change, binding, held))).toBe(expected);
  });

  it("gets what costs nothing, with the workers and GPUs that it has", () => {
    const remote: Remote = (record) => ({ ...otherImage(stoppedWorkers(record)) });
    const result = plan({}, bound(remote), held);
    expect(result).toMatchObject({ action: "Update", raises: false, differences: [{ field: "image" }] });
    expect(result).toMatchObject({ sent: { workers: { min: 0, max: 0 } } });
    expect(plan({}, bound(remote))).toMatchObject({ action: "Update", raises: true });
    const fewerGPUs: Remote = (record) => ({ ...record, scaling: { ...record.scaling, gpus: 1 } });
    expect(plan({ workers: { gpus: 2 } }, bound(fewerGPUs), held)).toMatchObject({
      action: "AwaitBudget",
      refusal,
      differences: [{ field: "workers.gpus" }],
    });
  });
});

/** A create that was accepted so many minutes ago. */
const created = (endpointID: string, minutesAgo: number) => ({
  endpointID,
  time: new Date(START - minutesAgo * 60_000).toISOString(),
});

describe("an endpoint that the service does not show", () => {
  it.each<[string, Change, boolean, string]>([
    ["may be there still", {}, false, "AwaitProofOfAbsence"],
    ["and that is surely gone is created again", {}, true, "Create"],
    ["is not created again under Report", { driftPolicy: "Report" }, true, "Stall RemoteMissing"],
    ["is not created under Observe", observe, true, "Stall RemoteMissing"],
    ["and was adopted is not made anew", adopt("Override"), true, "Stall RemoteMissing"],
    ["is not created outside the limits", tooMany, true, "Stall OutOfRange"],
  ])("%s", (_name, change, provenGone, expected) => {
    expect(summary(plan(change, missing(provenGone)))).toBe(expected);
  });

  it.each<[string, Change, boolean, string]>([
    ["takes the place of one that is surely gone", {}, true, "Bind"],
    ["waits for the proof that the other one is gone", {}, false, "AwaitProofOfAbsence"],
    ["is another client's, perhaps, when the user chose the app name", chosen, true, "Create"],
  ])("another endpoint with its app name %s", (_name, change, provenGone, expected) => {
    expect(summary(plan(change, missing(provenGone, otherImage)))).toBe(expected);
    const vanished = plan(change, missing(provenGone, otherImage), { vanished: () => 1 });
    expect(summary(vanished)).toBe(expected === "Create" ? "Stall RemoteMissing" : expected);
  });

  it.each<{ name: string; creates: Facts["creates"]; expected: string }>([
    { name: "after an unconfirmed create", creates: [created("a", 4)], expected: "DelayCreate" },
    { name: "long after it", creates: [created("a", 5)], expected: "Create" },
    {
      name: "after three unconfirmed creates",
      creates: [created("a", 60), created("b", 50), created("c", 40)],
      expected: "Stall RemoteMissing",
    },
  ])("$name: $expected", ({ creates, expected }) => {
    expect(summary(plan({}, missing(true), { creates }))).toBe(expected);
    expect(summary(plan({}, unknown(60_000), { creates }))).toBe(expected);
  });

  it("is not created again when nothing of the account is shown any more, unless somebody asks for it", () => {
    const vanished = { vanished: () => 12 };
    const stalled = plan({}, missing(true), vanished);
    expect(summary(stalled)).toBe("Stall RemoteMissing");
    expect(stalled).toMatchObject({ message: expect.stringMatching(/^none of the 12 endpoints of this account/) });
    expect(summary(plan({}, missing(true), { ...vanished, requested: true }))).toBe("Create");
    expect(summary(plan({}, missing(false), vanished))).toBe("AwaitProofOfAbsence");
    expect(summary(plan({}, unknown(60_000), vanished))).toBe("Stall RemoteMissing");
    expect(summary(plan({}, unbound(), vanished))).toBe("Create");
  });

  it("is not created again when only another key can show it, unless somebody asks for it", () => {
    const stalled = plan({}, missing(true), { seenByNoKey: true });
    expect(stalled).toMatchObject({
      reason: "RemoteMissing",
      message: expect.stringMatching(
        /^Endpoint \S+ was created with another API key than the current one, .*: kubectl annotate$/,
      ),
    });
    expect(summary(plan({}, missing(false), { seenByNoKey: true }))).toBe("AwaitProofOfAbsence");
  });

  it("is created again when another key does not show it and a user requests it", () => {
    const elsewhere = unknown(60_000, undefined, "Other");
    expect(plan({}, elsewhere)).toMatchObject({
      message: expect.stringMatching(
        /^The response to the create of \S+ was lost\. The API key has changed since, .*: kubectl annotate$/,
      ),
    });
    expect(summary(plan({}, elsewhere, { requested: true }))).toBe("Create");
  });

  it("is not created again when it is the account's only endpoint, unless somebody asks for it", () => {
    const stalled = plan({}, missing(true), { vanished: () => 1 });
    expect(stalled).toMatchObject({
      reason: "RemoteMissing",
      message: expect.stringMatching(
        /^the only endpoint of this account is not shown by the service, .* kubectl annotate$/,
      ),
    });
    expect(summary(plan({}, missing(true), { vanished: () => 1, requested: true }))).toBe("Create");
  });
});

describe("the plan as a whole", () => {
  const changes = fc.record(
    {
      image: fc.constantFrom("a:1", "b:2"),
      port: fc.constantFrom(80, 8000),
      command: fc.constantFrom("run", "serve"),
      suspend: fc.boolean(),
      ignoreDrift: fc.uniqueArray(fc.constantFrom("image", "port", "workers", "workers.min", "command", "env")),
      workers: fc.record({ min: fc.integer({ min: 0, max: 3 }), max: fc.integer({ min: 3, max: 5 }) }),
    },
    { requiredKeys: [] },
  );

  it("comes to rest: what an update sends leaves nothing to do when the remote takes it", () => {
    fc.assert(
      fc.property(changes, changes, (spec, other) => {
        const endpoint = endpointOf(spec);
        const remote = recordOf(desiredOf(endpointOf({ ...other, ignoreDrift: null })), {
          name: desiredOf(endpoint).name,
          appName: desiredOf(endpoint).appName,
        });
        const sent = withIgnored(desiredOf(endpoint), remote, ignoredFields(endpoint.spec));
        const after = plan(
          spec,
          bound(() => recordOf(sent)),
        );
        expect(summary(after)).toBe("None");
        expect(after).toMatchObject({ differences: [] });
      }),
    );
  });

  it("never writes under Observe, whatever the remote shows", () => {
    const bindings = fc.constantFrom(
      unbound(),
      unbound(otherImage),
      bound(same),
      bound(otherImage),
      missing(true),
      missing(false),
    );
    fc.assert(
      fc.property(changes, bindings, fc.boolean(), (spec, binding, applied) => {
        expect(["None", "Bind", "Stall", "AwaitProofOfAbsence"]).toContain(
          plan({ ...spec, ...observe }, binding, { applied }).action,
        );
      }),
    );
  });
});

describe("a share", () => {
  const share = {
    forbidden: [],
    forbiddenRegion: (region: string) => [{ field: "region", message: `region is ${region}` }],
  };
  const adopted =
    (regionID: string) =>
    (endpoint: GpuEndpoint): Binding => ({
      kind: "Unbound",
      candidate: undefined,
      adopt: { ...recordOf(desiredOf(endpoint)), regionID },
    });
  const adoption = { endpointID: "ep-1", mode: "Override" };

  it("lets no endpoint of a region be adopted that it does not list", () => {
    const refused = { action: "Stall", reason: "NotAllowedByShare", message: "region is eu" };
    expect(plan({ adoption }, adopted("eu"), { share })).toMatchObject(refused);
    expect(plan({ adoption }, adopted("eu")).action).toBe("Bind");
  });

  it("has no say in the region of a create, which the service chooses", () => {
    expect(plan({}, unbound(), { share }).action).toBe("Create");
  });

  it("lets nothing be created that it does not allow", () => {
    const forbidden = [{ field: "volumes", message: "volumes is one" }];
    const refused = { action: "Stall", reason: "NotAllowedByShare", message: "volumes is one" };
    expect(plan({}, unbound(), { share: { ...share, forbidden } })).toMatchObject(refused);
  });
});
