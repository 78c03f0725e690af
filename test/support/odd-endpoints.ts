/** Endpoints with every field varied, as people make them at the service by hand, in the spelling of its create operation. */

type Env = { key: string; value: string };
export type CreateBody = Record<string, unknown> & { name: string; envs?: Env[] };
/** What only a hand at the service itself can bring about (`POST /__state/endpoints/ID` of the simulator). */
export type OddEndpoint = { create: CreateBody; patch?: Record<string, unknown> };

const NAMES = [
  "yes",
  "0123",
  "Team Échos: v2",
  "",
  "你好 😀",
  "a\nb",
  "# no comment",
  "null",
  "echo",
  "Echo",
  "x".repeat(220),
];
const COMMANDS = [
  undefined,
  "serve --port 8000",
  "#!/bin/sh\nset -e\nexec serve \\\n  --model '/models/a b'\n",
  "  leading\n\ttab \nand blanks  \n\n",
  'sh -c "echo \\"yes\\" && exec x"',
  "é".repeat(2047),
  "no",
];
const VALUES = [
  ...["yes", "0123", "", " ", "null", "1e3", "12:30:45", "~", "- a", "{a: b}", "'", '"', "\\", "# x", "a: b #c"],
  ...[
    "multi\nline\n",
    "\n\nlead",
    "trail\n\n",
    " a \n b ",
    "tab\there",
    "\r\n",
    "\0\u0007\u001b[31m",
    "\u2028\ufeff\u00a0",
  ],
  ...[
    "你好",
    "😀".repeat(500),
    "-----BEGIN KEY-----\nabc==\n-----END KEY-----\n",
    "x".repeat(4095),
    "=",
    "%",
    "@a",
    "`b`",
  ],
];
const KEYS = [
  "TOKEN",
  "my key",
  "é",
  "a/b",
  "yes",
  "..",
  "0",
  "a.b-c_d",
  "=",
  "K".repeat(511),
  "$PATH",
  "name\twith\ttabs",
];

const pick = <T>(list: readonly T[], i: number): T => list[i % list.length] as T;

function envs(i: number): Env[] | undefined {
  if (i % 5 === 0) return undefined;
  return Array.from({ length: i % 9 }, (_, k) => ({ key: pick(KEYS, i + k), value: pick(VALUES, 7 * i + k) }));
}

function volumes(i: number) {
  const local = { type: "local", size: 30, mountPath: `/scratch ${i}` };
  const network = (n: number) => ({ type: "network", id: `net-${n}`, mountPath: `/data/${n}: x` });
  return pick(
    [[], [local], [network(i)], [network(i), local, network(i + 100)], [{ ...network(i), mountPath: "/é" }]],
    i,
  );
}

function create(i: number): CreateBody {
  const command = pick(COMMANDS, i);
  const mounts = volumes(i);
  return {
    name: pick(NAMES, i),
    ...(i % 3 === 0 ? { appName: `app-${i}` } : {}),
    workerConfig: {
      minNum: i % 3,
      maxNum: (i % 3) + (i % 4),
      freeTimeout: 1 + i * 7,
      maxConcurrent: 1 + i,
      gpuNum: 1 + (i % 8),
      requestTimeout: 1 + i * 30,
    },
    ports: [{ port: String(i % 2 === 0 ? 1 + i : 65_535 - i) }],
    policy: { type: i % 2 === 0 ? "queue" : "concurrency", value: 1 + i },
    image: {
      image: pick(["registry.example.com/a:1.0", "0123", "yes", `r/${"i".repeat(509)}`, "é:latest@sha256:0"], i),
      ...(i % 4 === 1 ? { authId: pick(["cred-1", "0755", "c".repeat(255)], i) } : {}),
      ...(command === undefined ? {} : { command }),
    },
    products:
      i % 6 === 0 ? [{ id: "gpu-a" }, { id: "0123" }, { id: "no" }] : [{ id: pick(["gpu-4090-24g", "1e3"], i) }],
    rootfsSize: 100,
    volumeMounts: mounts,
    ...(mounts.some(({ type }) => type === "network") ? { clusterID: pick(["cluster-1", "0012", "on"], i) } : {}),
    ...(envs(i) === undefined ? {} : { envs: envs(i) ?? [] }),
    healthy: { path: pick(["/health", "/", "/é?x=1&y=#", "/a b", "/yes"], i) },
  };
}

const PATCHES: Record<string, unknown>[] = [
  { name: "n".repeat(221) },
  { ports: [{ port: "8000" }, { port: "9000" }] },
  { image: { command: "c".repeat(2048) } },
  {
    envs: [
      { key: "A", value: "1" },
      { key: "A", value: "2" },
    ],
  },
  { appName: "Not_A_Label" },
];

/** `count` endpoints that a GpuEndpoint can stand for; the last few hold values that it can only leave to the service. */
export function oddEndpoints(count: number): OddEndpoint[] {
  return Array.from({ length: count }, (_, i) => {
    const patch = PATCHES[count - 1 - i];
    return { create: create(i), ...(patch === undefined ? {} : { patch }) };
  });
}
