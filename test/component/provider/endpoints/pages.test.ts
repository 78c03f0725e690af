import { describe, expect, it, onTestFinished } from "vitest";
import type { EndpointRecord } from "../../../../src/provider/endpoints/endpoint-record.ts";
import { endpointPages } from "../../../../src/provider/endpoints/pages.ts";
import { ServiceError } from "../../../../src/provider/errors.ts";
import { desiredOf, endpointOf, recordOf } from "../../../support/endpoints.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { scriptedService } from "../../../support/service-account.ts";
import { endpointBody, startBench } from "../../simulator/start.ts";
import { failure, makeClient } from "../http/make-client.ts";

const signal = new AbortController().signal;
const record = (id: string) => recordOf(desiredOf(endpointOf()), { id });
const refuse = () => Promise.reject(new Error("not asked for"));

type Page = { ids: string[]; nextCursor: string; hasMore: boolean };

/** The ids of a list whose pages follow a script by cursor. */
async function readCurrent(pages: Record<string, Page>): Promise<string[]> {
  const client = {
    listEndpointsEarlier: refuse,
    listEndpoints: async ({ cursor = "" }: { cursor?: string }) => {
      const page = pages[cursor];
      if (page === undefined) throw new Error(`unexpected cursor ${cursor}`);
      return { data: page.ids.map(record), nextCursor: page.nextCursor, hasMore: page.hasMore };
    },
  };
  const options = { client, generation: "Current", pageSize: 2, clock: createFakeClock() } as const;
  const ids: string[] = [];
  for await (const one of endpointPages(options, signal)) ids.push(one.record.id);
  return ids;
}

describe("pages of the current generation", () => {
  it.each<{ name: string; pages: Record<string, Page>; ids: string[] }>([
    { name: "one page", pages: { "": { ids: ["a"], nextCursor: "", hasMore: false } }, ids: ["a"] },
    {
      name: "two pages",
      pages: {
        "": { ids: ["a", "b"], nextCursor: "2", hasMore: true },
        "2": { ids: ["c"], nextCursor: "", hasMore: false },
      },
      ids: ["a", "b", "c"],
    },
    {
      name: "a cursor beside has_more false",
      pages: { "": { ids: ["a"], nextCursor: "2", hasMore: false } },
      ids: ["a"],
    },
  ])("$name", async ({ pages, ids }) => {
    expect(await readCurrent(pages)).toEqual(ids);
  });

  it.each<{ name: string; pages: Record<string, Page> }>([
    {
      name: "a cursor that does not advance",
      pages: {
        "": { ids: ["a"], nextCursor: "2", hasMore: true },
        "2": { ids: ["b"], nextCursor: "2", hasMore: true },
      },
    },
    {
      name: "cursors that go round in a circle",
      pages: {
        "": { ids: ["a"], nextCursor: "2", hasMore: true },
        "2": { ids: ["b"], nextCursor: "3", hasMore: true },
        "3": { ids: ["c"], nextCursor: "2", hasMore: true },
      },
    },
    { name: "has_more without a cursor", pages: { "": { ids: ["a"], nextCursor: "", hasMore: true } } },
  ])("$name: an incomplete list, which proves no absence", async ({ pages }) => {
    await expect(readCurrent(pages)).rejects.toMatchObject({ kind: "UnreadableResponse" });
  });
});

describe("pages without an end", () => {
  const large = { image: "i".repeat(100_000) };
  it.each<{ name: string; page: (number: number) => EndpointRecord[]; pages: number }>([
    { name: "that are empty", page: () => [], pages: 2_001 },
    {
      name: "with endpoints",
      page: (number) => Array.from({ length: 1_000 }, (_, index) => record(`${number}-${index}`)),
      pages: 51,
    },
    { name: "with large endpoints", page: (number) => [{ ...record(`${number}`), ...large }], pages: 340 },
  ])("$name are an incomplete list", async ({ page, pages }) => {
    let read = 0;
    const client = {
      listEndpoints: async () => ({ data: page(++read), nextCursor: String(read), hasMore: true }),
      listEndpointsEarlier: async () => ({ data: [...page(++read), record(`new-${read}`)], total: undefined }),
    };
    for (const generation of ["Current", "Earlier"] as const) {
      read = 0;
      const options = { client, generation, pageSize: 1, clock: createFakeClock() };
      const all = async () => {
        for await (const _record of endpointPages(options, signal));
      };
      await expect(all()).rejects.toMatchObject({ kind: "UnreadableResponse" });
      expect(read).toBeLessThanOrEqual(pages);
    }
  });
});

describe("a list of more endpoints than an account usually has", () => {
  const PAGES = 120;
  const page = (number: number) => Array.from({ length: 1_000 }, (_, index) => record(`${number}-${index}`));
  const client = {
    listEndpoints: async ({ cursor = "1" }: { cursor?: string }) => {
      const number = Number(cursor);
      return { data: page(number), nextCursor: String(number + 1), hasMore: number < PAGES };
    },
    listEndpointsEarlier: refuse,
  };
  const length = async (expected: number) => {
    let count = 0;
    const options = { client, generation: "Current", pageSize: 1_000, clock: createFakeClock(), expected } as const;
    for await (const _record of endpointPages(options, signal)) count += 1;
    return count;
  };

  it("is complete when as many are expected", async () => {
    expect(await length(PAGES * 1_000)).toBe(PAGES * 1_000);
  });

  it("is incomplete when few are expected", async () => {
    await expect(length(10)).rejects.toMatchObject({ kind: "UnreadableResponse" });
  });
});

describe("pages of the earlier generation", () => {
  async function readEarlier(ids: string[], { cap, total }: { cap: number; total: number | "Page" | undefined }) {
    const client = {
      listEndpoints: refuse,
      listEndpointsEarlier: async ({ pageNum, pageSize }: { pageNum: number; pageSize: number }) => {
        const size = Math.min(cap, pageSize);
        const data = pageNum === 0 ? [] : ids.slice((pageNum - 1) * size, pageNum * size).map(record);
        return { data, total: total === "Page" ? data.length : total };
      },
    };
    const options = { client, generation: "Earlier", pageSize: 4, clock: createFakeClock() } as const;
    const read: string[] = [];
    for await (const one of endpointPages(options, signal)) read.push(one.record.id);
    return read;
  }

  const ids = ["a", "b", "c", "d", "e"];
  it.each([
    { name: "whole pages and a total", cap: 4, total: 5 },
    { name: "whole pages without a total", cap: 4, total: undefined },
    { name: "pages that the service makes shorter, with a larger total", cap: 2, total: 5 },
    { name: "a total that is too large", cap: 4, total: 50 },
    { name: "pages that the service makes shorter, without a total", cap: 2, total: undefined },
    { name: "a total that counts the page", cap: 4, total: "Page" as const },
    { name: "a total that counts the page, and pages that the service makes shorter", cap: 2, total: "Page" as const },
    { name: "a total that counts the page, and one endpoint on a page", cap: 1, total: "Page" as const },
  ])("$name", async ({ cap, total }) => {
    expect(await readEarlier(ids, { cap, total })).toEqual(ids);
  });
});

const switches = (["All", "Page"] as const).flatMap((totalCounts) =>
  ([0, 1] as const).flatMap((firstPageNum) =>
    (["Empty", "Refusal"] as const).flatMap((pageBehindEnd) =>
      [2, 100].map((maxPageSize) => ({ totalCounts, firstPageNum, pageBehindEnd, maxPageSize })),
    ),
  ),
);

describe.each(switches)("the list of the earlier generation at a service with %o", (simulator) => {
  it.each([0, 1, 2, 4, 5])("shows %d endpoints", async (count) => {
    const bench = await startBench(simulator);
    onTestFinished(() => bench.close());
    const client = makeClient(bench.url);
    onTestFinished(() => client.close());
    const created: string[] = [];
    for (let i = 0; i < count; i++) created.push((await client.createEndpoint(endpointBody({ appName: `a-${i}` }))).id);
    for (const pageSize of [2, 4, 100]) {
      const options = { client, generation: "Earlier", pageSize, clock: createFakeClock() } as const;
      const read: string[] = [];
      for await (const one of endpointPages(options, signal)) read.push(one.record.id);
      expect(read.sort(), `pages of ${pageSize}`).toEqual(created.toSorted());
    }
  });
});

describe("pages of the earlier generation, where a page behind the last one is refused", () => {
  type Service = { first: number; size: number; total: number | "Page" | undefined };
  async function readRefused(listed: string[], { first, size, total }: Service) {
    const client = {
      listEndpoints: refuse,
      listEndpointsEarlier: async ({ pageNum }: { pageNum: number }) => {
        const start = (pageNum - first) * size;
        if (start < 0 || (start > 0 && start >= listed.length)) {
          const why = { kind: "InvalidRequest", delivery: "Refused", message: "pageNum is invalid" } as const;
          throw new ServiceError({ operation: "listEndpointsEarlier", ...why });
        }
        const data = listed.slice(start, start + size).map(record);
        return { data, total: total === "Page" ? data.length : total };
      },
    };
    const options = { client, generation: "Earlier", pageSize: size, clock: createFakeClock() } as const;
    const read: string[] = [];
    for await (const one of endpointPages(options, signal)) read.push(one.record.id);
    return read.sort();
  }

  const ids = ["a", "b", "c"];
  it.each([
    { name: "pages from 0, one page", first: 0, size: 4, total: 3 },
    { name: "pages from 0, two pages", first: 0, size: 2, total: 3 },
    { name: "pages from 1, two pages", first: 1, size: 2, total: 3 },
    { name: "pages from 1, a full page without a total", first: 1, size: 3, total: undefined },
    { name: "pages from 0, totals that count the page", first: 0, size: 2, total: "Page" as const },
    { name: "pages from 1, totals that count the page", first: 1, size: 2, total: "Page" as const },
    { name: "pages from 1, a full page with its own total", first: 1, size: 3, total: "Page" as const },
  ])("$name: the list is complete", async (service) => {
    expect(await readRefused(ids, service)).toEqual(ids);
  });

  it("an empty list from page 0 is empty", async () => {
    expect(await readRefused([], { first: 0, size: 4, total: 0 })).toEqual([]);
  });

  it("a list that shows less than its total is incomplete", async () => {
    await expect(readRefused(ids, { first: 1, size: 4, total: 4 })).rejects.toMatchObject({ kind: "InvalidRequest" });
  });

  it("a list whose pages are all refused cannot be read", async () => {
    await expect(readRefused(ids, { first: 7, size: 4, total: 3 })).rejects.toMatchObject({ kind: "InvalidRequest" });
  });
});

it("a detail without an endpoint is an endpoint that the service does not know", async () => {
  const { url } = await scriptedService(() => ({ body: { endpoint: null } }));
  const client = makeClient(url);
  expect(await failure(client.getEndpointEarlier({ id: "e-1" }))).toMatchObject({ kind: "NotFound" });
  await client.close();
});
