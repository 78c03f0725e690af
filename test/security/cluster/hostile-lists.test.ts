/**
 * Accounts whose service answers with lists that are too large, too deep or without an end. The operator stays within the memory
 * limit of the chart, keeps answering /healthz, and serves another account as before.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { tools } from "../../support/command-line.ts";
import { limitMemory, peakMiB } from "../../support/hostile/memory-limit.ts";
import { manifest } from "../../support/manifests.ts";
import { condition, createWorld, eventually, type Operator, waitForCondition } from "../../support/world.ts";

/** A service that answers each path as it likes. `requests` counts by path. */
type HostileService = {
  url: string;
  requests(): Record<string, number>;
  /** Answers every request whose path begins with `path` like this from now on. */
  answer(path: string, response: HostileResponse): void;
  close(): void;
};

/** Endpoint limits that let the account become ready. */
const LIMITS = JSON.stringify({ minWorkerNum: 0, maxWorkerNum: 10, cudaVersionList: ["12.4"] });

async function startHostileService(): Promise<HostileService> {
  const answers = new Map<string, HostileResponse>();
  const requests: Record<string, number> = {};
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://service");
    requests[pathname] = (requests[pathname] ?? 0) + 1;
    request.resume();
    const found = [...answers].find(([path]) => pathname.startsWith(path))?.[1];
    response.writeHead(200, { "content-type": "application/json" });
    if (found === undefined)
      response.end(pathname.endsWith("/limit") ? LIMITS : '{"data":[],"bills":[],"key_budgets":[]}');
    else void send(response, found.body(searchParams.get("cursor") ?? ""));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    answer: (path, response) => void answers.set(path, response),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function send(response: ServerResponse, body: Iterable<string>): Promise<void> {
  // A client that leaves in the middle is what the tests expect.
  await pipeline(Readable.from(joined(body)), response).catch(() => undefined);
}

/** The same text in pieces of 64 KiB or more. */
function* joined(body: Iterable<string>): Iterable<string> {
  let pieces: string[] = [];
  let size = 0;
  for (const piece of body) {
    pieces.push(piece);
    size += piece.length;
    if (size < 64 * 1024) continue;
    yield pieces.join("");
    pieces = [];
    size = 0;
  }
  yield pieces.join("");
}

/** Bodies that a hostile service sends instead of what was asked for. Each is made as it is sent, so the service needs no memory. */
type HostileResponse = {
  name: string;
  /** The body in pieces, for a page that begins at `cursor` ("" is the first). */
  body: (cursor: string) => Iterable<string>;
};

const MIB = 1024 * 1024;

function* repeated(before: string, piece: string, count: number, after: string): Iterable<string> {
  yield before;
  const at1 = Math.max(1, Math.floor((64 * 1024) / piece.length));
  for (let left = count; left > 0; left -= at1) yield piece.repeat(Math.min(at1, left));
  yield after;
}

const endpoint = (id: string, extra = "") =>
  `{"id":"${id}","name":"n","app_name":"app-${id}","image":"i","status":{"status":"running"}${extra}}`;

/** 1,000 endpoints of a page, none of which any other page has. */
function* page(cursor: string, size: number, extra = ""): Iterable<string> {
  const number = cursor === "" ? 0 : Number(cursor);
  yield '{"data":[';
  for (let index = 0; index < size; index++) yield `${index === 0 ? "" : ","}${endpoint(`p${number}-${index}`, extra)}`;
  yield `],"has_more":true,"next_cursor":"${number + 1}"}`;
}

/** A list of endpoints, and what is wrong with it. */
const HOSTILE_LISTS: readonly HostileResponse[] = [
  {
    name: "1,000,000 endpoints in one page",
    body: () => repeated('{"data":[', '{"id":"e"},', 1_000_000, '{"id":"e"}]}'),
  },
  {
    name: "9,999 endpoints in one page",
    body: () => repeated('{"data":[', `${endpoint("e")},`, 9_998, `${endpoint("e")}]}`),
  },
  { name: "15 MiB of empty objects", body: () => repeated('{"data":[', "{},", 5 * MIB, "{}]}") },
  { name: "15 MiB of names beside the list", body: () => names('{"data":[],"a":{', 1_000_000) },
  { name: "a record of 1,000,000 names", body: () => names('{"data":[{"id":"e","a":{', 1_000_000) },
  {
    name: "a record with 1,000,000 workers",
    body: () => repeated('{"data":[{"id":"e","workers":[', "{},", 1_000_000, "{}]}]}"),
  },
  {
    name: "a text of 15 MiB",
    body: () => repeated('{"data":[{"id":"e","name":"', "x".repeat(1024), 15 * 1024, '"}]}'),
  },
  { name: "200 MiB", body: () => repeated('{"data":[', `${endpoint("e")},`, 3 * MIB, "{}]}") },
  { name: "100,000 levels", body: () => repeated('{"data":[', "[", 100_000, "") },
  { name: "pages without an end", body: (cursor) => page(cursor, 1_000) },
  { name: "empty pages without an end", body: (cursor) => page(cursor, 0) },
  { name: "large pages without an end", body: (cursor) => page(cursor, 500, `,"command":"${"c".repeat(20_000)}"`) },
];

function* names(before: string, count: number): Iterable<string> {
  yield before;
  for (let index = 0; index < count; index += 1_000) {
    yield Array.from({ length: 1_000 }, (_, one) => `"k${index + one}":1,`).join("");
  }
  yield '"z":1}}]}';
}

/** The chart's limit. */
const LIMIT_MIB = 512;
/** A liveness probe of the chart waits this long. It counts computing time: a busy machine stops the operator for longer. */
const LONGEST_STALL_MS = 5_000;
const SHORT = ["1,000,000 endpoints in one page", "a record of 1,000,000 names", "large pages without an end"];
const lists =
  process.env.MOORING_CAMPAIGN === undefined ? HOSTILE_LISTS.filter(({ name }) => SHORT.includes(name)) : HOSTILE_LISTS;

const limit = limitMemory(`mooring-${randomBytes(4).toString("hex")}`, LIMIT_MIB * 1024 * 1024);
afterAll(async () => {
  await eventually("the cgroup is empty", async () => {
    limit.remove();
    return true;
  });
});

/** How long the thread that answers requests has computed, ms. */
async function computedMs({ pid }: Operator): Promise<number> {
  const stat = await readFile(`/proc/${pid}/task/${pid}/stat`, "utf8");
  const [user = 0, system = 0] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13)
    .map(Number);
  return (user + system) * (1_000 / TICKS_PER_SECOND);
}
/** Linux: USER_HZ. */
const TICKS_PER_SECOND = 100;

/** Asks /healthz all the time. */
function watchHealth(operator: Operator): { longestMs(): number; stop(): void } {
  const port = /"probes":(\d+)/.exec(operator.log())?.[1];
  let longest = 0;
  let running = true;
  void (async () => {
    while (running) {
      const before = await computedMs(operator);
      await fetch(`http://127.0.0.1:${port}/healthz`).then(
        (answer) => answer.text(),
        () => undefined,
      );
      if (running) longest = Math.max(longest, (await computedMs(operator)) - before);
      await sleep(20);
    }
  })();
  return {
    longestMs: () => Math.round(longest),
    stop: () => {
      running = false;
    },
  };
}

it("costs the operator little and another account nothing", async () => {
  const service = await startHostileService();
  const world = await createWorld("hostile");
  const operator = await world.startOperator({ within: limit.within });
  await eventually("the operator starts", async () => operator.log().includes('"probes":'));
  const readyAfter = async (name: string) => {
    const began = performance.now();
    await world.apply(manifest("endpoint", {}, name));
    await waitForCondition(world, "GpuEndpoint", name, "Ready", "True");
    return Math.round(performance.now() - began);
  };
  await readyAfter("first");
  const quiet = await readyAfter("quiet");

  const health = watchHealth(operator);
  for (const [index, list] of lists.entries()) {
    service.answer(`/r${index}/gpus/v2/endpoints`, list);
    await world.apply({
      kind: "Account",
      metadata: { name: `hostile-${index}` },
      spec: {
        baseURL: `${service.url}/r${index}`,
        apiKeySecretRef: { name: "key", key: "apiKey" },
        endpoints: { pageSize: 1000 },
        rateLimit: { requestsPerSecond: 100, burst: 100 },
      },
    });
    const accountRef = { kind: "Account", name: `hostile-${index}` };
    await world.apply(manifest("endpoint", { accountRef }, `victim-${index}`));
  }
  const busy: number[] = [];
  for (const name of ["a", "b", "c"]) busy.push(await readyAfter(name));

  const told = await Promise.all(
    lists.map(async ({ name }, index) => {
      if (name.startsWith("9,999")) return `${name}: is read`;
      const account = await waitForCondition(world, "Account", `hostile-${index}`, "EndpointsListed", "False", 200_000);
      return `${name}: ${condition(account, "EndpointsListed")?.message}`;
    }),
  );
  const after = await readyAfter("last");
  health.stop();
  const peak = await peakMiB(operator.pid);
  console.log(
    [
      `${limit.kind} of ${LIMIT_MIB} MiB: ${peak} MiB at most; /healthz answered within ${health.longestMs()} ms of computing`,
      `another account: an endpoint is ready after ${quiet} ms before, ${busy.join(", ")} ms meanwhile, ${after} ms after`,
      ...told,
    ].join("\n"),
  );
  expect(peak).toBeLessThan(LIMIT_MIB);
  expect(health.longestMs()).toBeLessThan(LONGEST_STALL_MS);

  const imported = await tools(world).mooring(
    "import",
    "--account",
    "hostile-0",
    "--out",
    "/tmp/mooring-never-written",
  );
  expect(imported.code).not.toBe(0);
  expect(imported.stderr).toContain("data has more than 10000 records");
  expect(await operator.stop()).toBe(0);
  service.close();
});
