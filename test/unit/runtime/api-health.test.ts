import { describe, expect, it } from "vitest";
import { createApiHealth } from "../../../src/runtime/api-health.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

function health() {
  const clock = createFakeClock();
  return { clock, ...createApiHealth(clock) };
}
const things = (status: number, verb = "watch", namespace?: string) => ({
  verb,
  resource: "things",
  namespace,
  status,
});

describe("the check of watches", () => {
  it("fails when nothing but failures came for 5 minutes, and holds at the first success", async () => {
    const { clock, observe, watch } = health();
    observe(things(200, "list"));
    observe(things(0));
    await clock.advance(299_000);
    observe(things(403, "list"));
    watch();
    await clock.advance(1_000);
    expect(watch).toThrow("no list or watch for over 5 minutes of things (HTTP 403)");
    observe(things(200, "list"));
    watch();
  });

  it("checks each kind and namespace separately", async () => {
    const { clock, observe, watch } = health();
    observe(things(0, "watch", "a"));
    await clock.advance(300_000);
    observe(things(200, "watch", "b"));
    observe({ verb: "list", resource: "others", namespace: undefined, status: 200 });
    expect(watch).toThrow("of things in a (no answer)");
  });

  it("stays healthy while a long watch is silent, regardless of single reads and writes", async () => {
    const { clock, observe, watch } = health();
    observe(things(200));
    observe(things(500, "get"));
    observe(things(409, "update"));
    await clock.advance(600_000);
    watch();
  });
});

describe("the check of the lease", () => {
  const lease = (status: number, verb = "get") => ({ verb, resource: "leases", namespace: "ops", status });

  it.each([
    ["read", lease(200)],
    ["not there yet", lease(404)],
    ["written", lease(200, "update")],
    ["written by another first", lease(409, "update")],
  ])("holds for 15 s once it was %s", async (_name, request) => {
    const { clock, observe, lease: check } = health();
    expect(check).toThrow("the lease has not been read yet");
    observe(request);
    await clock.advance(14_999);
    check();
    await clock.advance(1);
    expect(check).toThrow("the lease was last read or written 15 s ago");
  });

  it.each([0, 401, 403, 500, 503])("is not known by a %i", (status) => {
    const { observe, lease: check } = health();
    observe(lease(status));
    expect(check).toThrow("the lease has not been read yet");
  });
});
