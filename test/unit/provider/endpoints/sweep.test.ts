import { describe, expect, it, onTestFinished } from "vitest";
import type { EndpointRecord } from "../../../../src/provider/endpoints/endpoint-record.ts";
import {
  createEndpointSweep,
  type EndpointSweep,
  type EndpointSweepOptions,
} from "../../../../src/provider/endpoints/sweep.ts";
import { ServiceError } from "../../../../src/provider/errors.ts";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { createFakeClock, type FakeClock } from "../../../support/fake-clock.ts";
import { silentLog } from "../../../support/scripted-api-server.ts";

const forever = new AbortController().signal;
const record = (id: string, change: Partial<EndpointRecord> = {}) =>
  recordOf(desiredOf(endpointOf()), { id, appName: `app-${id}`, ...change });

type World = { clock: FakeClock; sweep: EndpointSweep; calls: unknown[]; told: string[]; errors: unknown[] };

/** `remote` is what the service has; it may change at any time. */
function world(
  remote: EndpointRecord[],
  change: Partial<EndpointSweepOptions> & { firstPage?: number; total?: boolean } = {},
): World {
  const { firstPage = 1, total = true, ...options } = change;
  const clock = createFakeClock();
  const calls: unknown[] = [];
  const told: string[] = [];
  const errors: unknown[] = [];
  const sweep = createEndpointSweep({
    generation: "Current",
    pageSize: 2,
    intervalMs: 60_000,
    clock,
    log: silentLog,
    wanted: () => true,
    expected: () => 0,
    onChange: (id) => told.push(id),
    onError: (error) => errors.push(error),
    client: {
      listEndpoints: async (input) => {
        calls.push(input);
        const from = Number(input.cursor ?? 0);
        const next = from + (input.limit ?? 0);
        const hasMore = next < remote.length;
        return { data: remote.slice(from, next), nextCursor: hasMore ? String(next) : "", hasMore };
      },
      listEndpointsEarlier: async (input) => {
        calls.push(input);
        const from = (input.pageNum - firstPage) * input.pageSize;
        return {
          data: from < 0 ? [] : remote.slice(from, from + input.pageSize),
          total: total ? remote.length : undefined,
        };
      },
    },
    ...options,
  });
  onTestFinished(() => sweep.stop());
  return { clock, sweep, calls, told, errors };
}

describe("a sweep", () => {
  it("reads every page once a minute, however many endpoints there are", async () => {
    const w = world(["a", "b", "c", "d", "e"].map((id) => record(id)));
    w.sweep.start();
    await w.clock.advance(0);
    expect(w.calls).toEqual([{ limit: 2 }, { limit: 2, cursor: "2" }, { limit: 2, cursor: "4" }]);
    expect([w.sweep.total(), w.sweep.get("e")?.id, w.sweep.byAppName("app-c").map(({ id }) => id)]).toEqual([
      5,
      "e",
      ["c"],
    ]);
    await w.clock.advance(59_999);
    expect(w.calls).toHaveLength(3);
    await w.clock.advance(1);
    expect(w.calls).toHaveLength(6);
  });

  it("counts the expected endpoints once, however many the list has: whoever counts them passes over all objects", async () => {
    let counts = 0;
    const w = world(
      Array.from({ length: 50 }, (_, index) => record(`e-${index}`)),
      { expected: () => ++counts },
    );
    w.sweep.start();
    await w.clock.advance(0);
    expect([w.sweep.total(), counts]).toEqual([50, 1]);
    await w.clock.advance(60_000);
    expect(counts).toBe(2);
  });

  it("tells what is new and what differs, and nothing else", async () => {
    const remote = [record("a"), record("b")];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    expect(w.told).toEqual(["a", "b"]);
    remote[1] = record("b", { status: { status: "stopped", error: "", message: "" } });
    await w.clock.advance(60_000);
    expect(w.told).toEqual(["a", "b", "b"]);
    await w.clock.advance(600_000);
    expect(w.told).toHaveLength(3);
  });

  it("takes an endpoint for gone only after two complete lists without it", async () => {
    const remote = [record("a"), record("b")];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    remote.pop();
    await w.clock.advance(60_000);
    expect([w.sweep.gone("b"), w.sweep.get("b")?.id]).toEqual([false, "b"]);
    await w.clock.advance(60_000);
    expect([w.sweep.gone("b"), w.sweep.get("b"), w.sweep.byAppName("app-b")]).toEqual([true, undefined, []]);
    expect(w.told).toEqual(["a", "b", "b"]);
  });

  it("finds all endpoints with an app name, those that are shown first", async () => {
    const remote = [record("a"), { ...record("b"), appName: "app-a" }];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    const [a, b] = remote;
    const found: string[][] = [];
    for (const shown of [[a], [b], [], [a, b]]) {
      remote.splice(0, 2, ...shown.flatMap((one) => one ?? []));
      for (const _ of ["missing", "gone"]) {
        await w.clock.advance(60_000);
        found.push(w.sweep.byAppName("app-a").map(({ id }) => id));
      }
    }
    expect(found.slice(0, 6)).toEqual([["a", "b"], ["a"], ["b", "a"], ["b"], ["b"], []]);
    expect(found.slice(6).map((ids) => ids.sort())).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
  });

  it("finds an endpoint by its new app name only, once that has changed", async () => {
    const remote = [record("a")];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    remote[0] = { ...record("a"), appName: "app-new" };
    await w.clock.advance(60_000);
    expect([w.sweep.byAppName("app-a"), w.sweep.byAppName("app-new").map(({ id }) => id)]).toEqual([[], ["a"]]);
  });

  it("takes an endpoint that no list ever showed for gone after two lists since that was first asked", async () => {
    const w = world([record("a")]);
    w.sweep.start();
    await w.clock.advance(600_000);
    expect(w.sweep.gone("lost")).toBe(false); // it may have been made a moment ago
    await w.clock.advance(60_000);
    expect(w.sweep.gone("lost")).toBe(false);
    await w.clock.advance(60_000);
    expect([w.sweep.gone("lost"), w.told.at(-1)]).toEqual([true, "lost"]);
    await w.clock.advance(600_000);
    expect(w.told).toEqual(["a", "lost"]);
    w.sweep.observe(record("lost"));
    expect(w.sweep.gone("lost")).toBe(false);
  });

  it("tells once that a list lacks an endpoint, so that it is read, and not for a list that another key read", async () => {
    const remote = [record("a"), record("b")];
    const missing: string[] = [];
    const w = world(remote, { onMissing: (id) => missing.push(id) });
    w.sweep.start();
    await w.clock.advance(0);
    const b = remote.pop();
    await w.clock.advance(60_000);
    expect([missing, w.sweep.missing("b"), w.sweep.missing("a")]).toEqual([["b"], true, false]);
    await w.clock.advance(60_000);
    expect([missing, w.told]).toEqual([["b"], ["a", "b", "b"]]); // gone
    if (b !== undefined) remote.push(b);
    await w.clock.advance(60_000);
    w.sweep.keyChanged();
    expect([missing, w.sweep.missing("a"), w.sweep.missing("b")]).toEqual([["b"], false, false]);
  });

  it("does not return an endpoint that a read does not find, until a later list shows it", async () => {
    const remote = [record("a"), record("b")];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    w.sweep.notFound("b");
    expect([w.sweep.get("b"), w.sweep.byAppName("app-b"), w.sweep.gone("b")]).toEqual([undefined, [], false]);
    expect(w.sweep.shown().map(({ id }) => id)).toEqual(["a"]);
    await w.clock.advance(60_000);
    expect([w.sweep.get("b")?.id, w.sweep.byAppName("app-b")[0]?.id, w.told]).toEqual(["b", "b", ["a", "b", "b"]]);
    w.sweep.notFound("b");
    remote.pop();
    await w.clock.advance(60_000);
    expect(w.sweep.gone("b")).toBe(false);
    await w.clock.advance(60_000);
    expect([w.sweep.gone("b"), w.told.at(-1)]).toEqual([true, "b"]);
  });

  it("counts anew when it was seen in between", async () => {
    const remote = [record("a"), record("b")];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    const b = remote.pop();
    await w.clock.advance(60_000);
    if (b !== undefined) remote.push(b);
    await w.clock.advance(60_000);
    remote.pop();
    await w.clock.advance(60_000);
    expect(w.sweep.gone("b")).toBe(false);
  });

  it("that fails proves nothing, is told, and is repeated after 10 s", async () => {
    let failing = false;
    const remote = [record("a")];
    const w = world(remote, {
      client: {
        listEndpoints: async () => {
          if (failing) throw new Error("away");
          return { data: remote, nextCursor: "", hasMore: false };
        },
        listEndpointsEarlier: async () => ({ data: [], total: 0 }),
      },
    });
    w.sweep.start();
    await w.clock.advance(0);
    failing = true;
    remote.pop();
    await w.clock.advance(60_000);
    await w.clock.advance(50_000);
    expect(w.errors).toHaveLength(6);
    expect([w.sweep.gone("a"), w.sweep.get("a")?.id]).toEqual([false, "a"]);
  });

  it("does not go round in circles with a cursor that stands still", async () => {
    let calls = 0;
    const w = world([], {
      client: {
        listEndpoints: async () => ({ data: [record(`e${calls++}`)], nextCursor: "same", hasMore: true }),
        listEndpointsEarlier: async () => ({ data: [], total: 0 }),
      },
    });
    w.sweep.start();
    await w.clock.advance(1_000);
    expect(calls).toBe(2);
  });

  it("makes no call while nothing depends on it, and begins when somebody waits", async () => {
    const w = world([record("a")], { wanted: () => false });
    w.sweep.start();
    await w.clock.advance(600_000);
    expect(w.calls).toEqual([]);
    await w.clock.advance(10);
    const first = w.sweep.first(forever);
    await w.clock.advance(0);
    await first;
    expect(w.sweep.get("a")?.id).toBe("a");
  });

  it("answers all who wait for the first with one list, and who waits for the next with one that begins later", async () => {
    const w = world([record("a"), record("b"), record("c")], { wanted: () => false });
    w.sweep.start();
    await w.clock.advance(10);
    const waits = [w.sweep.first(forever), w.sweep.first(forever)];
    const next = new Promise((resolve) => {
      void Promise.resolve().then(() => {
        waits.push(w.sweep.first(forever)); // while the list is read
        resolve(w.sweep.next(forever));
      });
    });
    await w.clock.advance(0);
    await Promise.all([...waits, next]);
    expect(w.calls).toEqual([{ limit: 2 }, { limit: 2, cursor: "2" }, { limit: 2 }, { limit: 2, cursor: "2" }]);
  });

  it("gives its error to who waits for the first", async () => {
    const w = world([], {
      client: {
        listEndpoints: async () => {
          throw new Error("away");
        },
        listEndpointsEarlier: async () => ({ data: [], total: 0 }),
      },
    });
    const first = w.sweep.first(forever);
    const rejected = expect(first).rejects.toThrow("away");
    w.sweep.start();
    await w.clock.advance(0);
    await rejected;
  });

  it.each(["read", "written to"])("does not let a page undo what was %s after the page was asked for", async (how) => {
    const before = record("a", { image: "old" });
    const after = record("a", { image: "new" });
    let answer = (_page: { data: EndpointRecord[]; nextCursor: string; hasMore: boolean }): void => {};
    const remote = [before];
    const w = world(remote, {
      client: {
        listEndpoints: () =>
          new Promise((resolve) => {
            answer = resolve;
          }),
        listEndpointsEarlier: async () => ({ data: [], total: 0 }),
      },
    });
    const page = (data: EndpointRecord[]) => ({ data, nextCursor: "", hasMore: false });
    w.sweep.start();
    answer(page([before]));
    await w.clock.advance(60_000);
    await w.clock.advance(5); // the second page is on its way, asked for 5 ms ago
    if (how === "read") w.sweep.observe(after);
    else w.sweep.wrote("a");
    w.told.length = 0;
    answer(page([record("a", { image: "stale" })]));
    await w.clock.advance(0);
    expect(w.told).toEqual([]);
    expect(w.sweep.get("a")?.image).toBe(how === "read" ? "new" : "old");
    await w.clock.advance(60_000);
    answer(page([record("a", { image: "newest" })]));
    await w.clock.advance(0);
    expect([w.sweep.get("a")?.image, w.told]).toEqual(["newest", ["a"]]);
  });

  it("knows at once what was read alone", () => {
    const w = world([]);
    w.sweep.observe(record("new"));
    expect(w.sweep.byAppName("app-new")[0]?.id).toBe("new");
    expect(w.told).toEqual([]);
  });
});

describe("the earlier generation's pages", () => {
  const ids = ["a", "b", "c", "d", "e"];
  it.each([
    ["from 1", { firstPage: 1 }],
    ["from 1, without a total", { firstPage: 1, total: false }],
    ["from 0", { firstPage: 0 }],
    ["from 0, without a total", { firstPage: 0, total: false }],
  ])("are read whole when they are counted %s", async (_name, options) => {
    const w = world(
      ids.map((id) => record(id)),
      { generation: "Earlier", ...options },
    );
    w.sweep.start();
    await w.clock.advance(0);
    expect(ids.filter((id) => w.sweep.get(id) === undefined)).toEqual([]);
  });

  it("are not asked for number 0 when the total was seen without it", async () => {
    const w = world(
      ids.map((id) => record(id)),
      { generation: "Earlier" },
    );
    w.sweep.start();
    await w.clock.advance(0);
    expect(w.calls).toEqual([1, 2, 3].map((pageNum) => ({ pageSize: 2, pageNum })));
  });

  it.each([
    ["InvalidRequest: they are counted from 1", "InvalidRequest", "complete", 0],
    ["Timeout: nothing is proven", "Timeout", "failed", 1],
  ] as const)("may refuse number 0 with %s", async (_name, kind, expected, errors) => {
    const remote = ids.map((id) => record(id));
    const w = world(remote, {
      generation: "Earlier",
      client: {
        listEndpoints: async () => ({ data: [], nextCursor: "", hasMore: false }),
        listEndpointsEarlier: async ({ pageNum, pageSize }) => {
          if (pageNum > 0)
            return { data: remote.slice((pageNum - 1) * pageSize, pageNum * pageSize), total: undefined };
          throw new ServiceError({ operation: "listEndpointsEarlier", kind, delivery: "Refused", message: "page 0" });
        },
      },
    });
    let first = "pending";
    w.sweep.first(forever).then(
      () => {
        first = "complete";
      },
      () => {
        first = "failed";
      },
    );
    w.sweep.start();
    await w.clock.advance(16_000); // a page that fails is repeated for so long
    expect([first, w.errors.length]).toEqual([expected, errors]);
  });

  it("end when a page shows nothing new, even if the total is wrong", async () => {
    let calls = 0;
    const w = world([], {
      generation: "Earlier",
      client: {
        listEndpoints: async () => ({ data: [], nextCursor: "", hasMore: false }),
        listEndpointsEarlier: async () => {
          calls++;
          return { data: [record("a"), record("b")], total: 99 };
        },
      },
    });
    w.sweep.start();
    await w.clock.advance(1_000);
    expect(calls).toBeLessThanOrEqual(3);
    expect(w.sweep.total()).toBe(2);
  });
});

describe("asked for out of turn", () => {
  it("one new sweep answers everybody who waits, and one under way does not count", async () => {
    const remote = [record("a")];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    remote.push(record("b"));
    const waiting = Promise.all([w.sweep.next(forever), w.sweep.next(forever), w.sweep.next(forever)]);
    await w.clock.advance(1_000);
    await waiting;
    expect([w.calls.length, w.sweep.byAppName("app-b")[0]?.id]).toEqual([2, "b"]);
  });

  it("gives up with who asked", async () => {
    const w = world([]);
    await expect(w.sweep.next(AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
  });

  it("a forgotten endpoint is not given out until it is seen again", async () => {
    const w = world([record("a")]);
    w.sweep.start();
    await w.clock.advance(0);
    await w.clock.advance(1);
    w.sweep.forget("a");
    expect([w.sweep.get("a"), w.sweep.byAppName("app-a")]).toEqual([undefined, []]);
    await w.clock.advance(60_000);
    expect(w.sweep.get("a")?.id).toBe("a");
  });
});

describe("another key", () => {
  it("makes what earlier lists did not show count for nothing", async () => {
    const remote = [record("a"), record("b")];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    remote.pop();
    await w.clock.advance(60_000);
    w.sweep.keyChanged();
    await w.clock.advance(60_000);
    expect(w.sweep.gone("b")).toBe(false);
    await w.clock.advance(60_000);
    expect(w.sweep.gone("b")).toBe(true);
    w.sweep.keyChanged();
    expect(w.sweep.gone("b")).toBe(false);
  });

  it("shows nothing until a list or a read with it does", async () => {
    const remote = [record("a"), record("b")];
    const w = world(remote);
    w.sweep.start();
    await w.clock.advance(0);
    const before = w.sweep.session();
    w.sweep.keyChanged();
    expect([w.sweep.shown(), w.sweep.get("a")?.id]).toEqual([[], "a"]);
    w.sweep.observe(record("a"), before); // asked for with the old key
    expect(w.sweep.shown()).toEqual([]);
    w.sweep.observe(record("a"), w.sweep.session());
    expect(w.sweep.shown().map(({ id }) => id)).toEqual(["a"]);
    remote.shift();
    await w.clock.advance(60_000);
    expect(w.sweep.shown().map(({ id }) => id)).toEqual(["b"]);
  });

  it("in the middle of a list has the list read again", async () => {
    const w = world(["a", "b", "c"].map((id) => record(id)));
    w.sweep.start();
    w.sweep.keyChanged(); // the first page is on its way
    await w.clock.advance(0);
    expect(w.calls).toEqual([{ limit: 2 }, { limit: 2 }, { limit: 2, cursor: "2" }]);
    expect(w.sweep.shown()).toHaveLength(3);
  });
});
describe("a sweep that is stopped", () => {
  it("rejects callers that wait, whether or not a list is in progress", async () => {
    const w = world([record("a")], { wanted: () => false });
    const waiting = w.sweep.next(forever);
    await Promise.all([expect(waiting).rejects.toThrow("session of the account is closed"), w.sweep.stop()]);
  });

  it("rejects callers that come later, instead of letting them wait", async () => {
    const w = world([record("a")]);
    await w.sweep.stop();
    await expect(w.sweep.next(forever)).rejects.toThrow("session of the account is closed");
    await expect(w.sweep.first(forever)).rejects.toThrow("session of the account is closed");
  });
});

describe("a service that returns no list", () => {
  const unreadable = (kind: ServiceError["kind"] = "UnreadableResponse") =>
    new ServiceError({ operation: "listEndpoints", kind, delivery: "Unknown", message: "1,000,000 records" });

  it("is asked no less often when the circuit breaker refuses the call that would ask again", async () => {
    const kinds = ["UnreadableResponse", "BreakerOpen"] as const;
    const times: number[] = [];
    const w = world([], {
      client: {
        listEndpoints: () => {
          const kind = kinds[Math.min(times.push(w.clock.monotonic()), kinds.length) - 1] ?? "BreakerOpen";
          return Promise.reject(unreadable(kind));
        },
        listEndpointsEarlier: () => Promise.reject(),
      },
    });
    w.sweep.start();
    await w.clock.advance(80_000);
    expect(times.map((time) => (time - (times[0] ?? 0)) / 1000)).toEqual([0, 10, 30, 70]);
  });

  it("is asked less and less often, and its account tells why", async () => {
    let error: ServiceError | undefined = unreadable();
    const times: number[] = [];
    const w = world([record("a")], {
      client: {
        listEndpoints: async () => {
          times.push(w.clock.monotonic());
          if (error !== undefined) throw error;
          return { data: [record("a")], nextCursor: "", hasMore: false };
        },
        listEndpointsEarlier: () => Promise.reject(error),
      },
    });
    w.sweep.start();
    await w.clock.advance(3_600_000);
    const pauses = times.slice(1).map((time, index) => (time - (times[index] ?? 0)) / 1000);
    expect(pauses).toEqual([10, 20, 40, 80, 160, 320, ...pauses.slice(6).map(() => 600)]);
    expect(w.sweep.failure()).toContain("1,000,000 records");

    error = undefined;
    await w.clock.advance(600_000);
    expect([w.sweep.failure(), w.sweep.total()]).toEqual([undefined, 1]);
  });

  it("keeps nobody waiting: waiting callers occupy workers that other accounts need", async () => {
    const w = world([], {
      client: { listEndpoints: () => Promise.reject(unreadable()), listEndpointsEarlier: () => Promise.reject() },
    });
    w.sweep.start();
    await w.clock.advance(15_000);
    await expect(w.sweep.next(forever)).rejects.toThrow("1,000,000 records");
    await expect(w.sweep.first(forever)).rejects.toThrow("1,000,000 records");
  });

  it("does not fill the memory with what lists without an end show", async () => {
    let page = 0;
    const w = world([], {
      client: {
        listEndpoints: async () => {
          page += 1;
          if (page % 3 === 0) throw unreadable();
          return { data: [record(`p${page}`)], nextCursor: String(page), hasMore: true };
        },
        listEndpointsEarlier: () => Promise.reject(),
      },
    });
    w.sweep.observe(record("read-alone"));
    w.sweep.start();
    await w.clock.advance(3_600_000);
    expect(page).toBeGreaterThan(9);
    expect([w.sweep.total(), w.sweep.get("read-alone")?.id]).toEqual([1, "read-alone"]);
  });

  it("is another one than a service that cannot be reached, which is asked every 10 s", async () => {
    const times: number[] = [];
    const w = world([], {
      client: {
        listEndpoints: () => {
          times.push(w.clock.monotonic());
          return Promise.reject(unreadable("Unreachable"));
        },
        listEndpointsEarlier: () => Promise.reject(),
      },
    });
    w.sweep.start();
    await w.clock.advance(60_000);
    expect(times).toHaveLength(7);
    expect(w.sweep.failure()).toBeUndefined();
  });
});

it("a caller that gives up causes no list", async () => {
  const w = world([record("a")], { wanted: () => false });
  const ended = new AbortController();
  const waiting = w.sweep.next(ended.signal);
  ended.abort(new Error("given up"));
  await expect(waiting).rejects.toThrow("given up");
  w.sweep.start();
  await w.clock.advance(5_000);
  expect(w.calls).toEqual([]);
});

it("tells of each complete list, and not of one that fails", async () => {
  const lists: number[] = [];
  let fails = false;
  const w = world([record("a"), record("b")], {
    onListed: () => void lists.push(w.sweep.total()),
    client: {
      listEndpoints: async () => {
        if (fails) throw new Error("no list");
        return { data: [record("a"), record("b")], nextCursor: "", hasMore: false };
      },
      listEndpointsEarlier: async () => ({ data: [], total: 0 }),
    },
  });
  w.sweep.start();
  await w.clock.advance(60_000);
  expect(lists).toEqual([2, 2]);
  fails = true;
  await w.clock.advance(60_000);
  expect(lists).toEqual([2, 2]);
  expect(w.errors).not.toEqual([]);
});

describe("the end of the first list", () => {
  const told = (ended: Promise<void>) => {
    const state = { ended: false };
    void ended.then(() => {
      state.ended = true;
    });
    return state;
  };
  /** A list without a response. */
  const endless = (_input: unknown, { signal }: { signal?: AbortSignal | undefined } = {}) =>
    new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));

  it("is awaited: what the list shows is known then", async () => {
    const { sweep, clock } = world([record("a")]);
    sweep.start();
    const state = told(sweep.firstEnded(forever));
    expect([state.ended, sweep.get("a")]).toEqual([false, undefined]);
    await clock.advance(0);
    expect([state.ended, sweep.get("a")?.id]).toEqual([true, "a"]);
  });

  it("begins at once when it is awaited, although no list was needed a moment ago", async () => {
    let wanted = false;
    const { sweep, clock } = world([record("a")], { wanted: () => wanted });
    sweep.start();
    await clock.advance(1);
    wanted = true;
    const state = told(sweep.firstEnded(forever));
    await clock.advance(0);
    expect([state.ended, sweep.get("a")?.id]).toEqual([true, "a"]);
  });

  it("is awaited for at most 10 s", async () => {
    const { sweep, clock } = world([], { client: { listEndpoints: endless, listEndpointsEarlier: endless } });
    sweep.start();
    const state = told(sweep.firstEnded(forever));
    await clock.advance(9_999);
    expect(state.ended).toBe(false);
    await clock.advance(1);
    expect(state.ended).toBe(true);
  });

  it("is a failure too, and no later call waits", async () => {
    const broken = async () => {
      throw new Error("no list");
    };
    const { sweep, clock } = world([], { client: { listEndpoints: broken, listEndpointsEarlier: broken } });
    sweep.start();
    const state = told(sweep.firstEnded(forever));
    await clock.advance(0);
    expect(state.ended).toBe(true);
    await sweep.firstEnded(forever);
  });

  it("is not awaited where no list is read", async () => {
    await world([]).sweep.firstEnded(forever);
    const unwanted = world([], { wanted: () => false });
    unwanted.sweep.start();
    await unwanted.sweep.firstEnded(forever);
  });
});
