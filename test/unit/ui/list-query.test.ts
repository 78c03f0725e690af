import { describe, expect, it } from "vitest";
import { listQuerySchema, selectRows } from "../../../src/ui/list-query.ts";
import type { ObjectRow } from "../../../src/ui/view-types.ts";

const row = (kind: string, namespace: string, name: string, change: Partial<ObjectRow> = {}): ObjectRow => ({
  kind,
  namespace,
  name,
  uid: `${kind}-${namespace}-${name}`,
  state: "Ready",
  reason: "Ready",
  message: "",
  since: "2026-11-01T00:00:00Z",
  created: "2026-11-01T00:00:00Z",
  needsUser: false,
  ...change,
});

const rows = [
  row("SpeechJob", "team-b", "greeting", { state: "Halted", needsUser: true, created: "2026-11-03T00:00:00Z" }),
  row("SpeechJob", "team-a", "farewell", { state: "Running", message: "half of it is spoken" }),
  row("VideoJob", "team-a", "waves", { state: "Running", created: "2026-11-02T00:00:00Z" }),
  row("GpuEndpoint", "team-a", "echo"),
  row("ClusterAccount", "", "default"),
];

const select = (query: Record<string, string> = {}) => selectRows(rows, listQuerySchema.parse(query));
const names = (query: Record<string, string>) => select(query).rows.map(({ name }) => name);

describe("a list", () => {
  it.each([
    {
      title: "objects that need a user come first",
      query: {},
      expected: ["greeting", "default", "echo", "farewell", "waves"],
    },
    { title: "jobs of both kinds", query: { view: "jobs", sort: "name" }, expected: ["farewell", "greeting", "waves"] },
    {
      title: "the newest first",
      query: { view: "jobs", sort: "created", order: "desc" },
      expected: ["greeting", "waves", "farewell"],
    },
    { title: "one namespace", query: { namespace: "team-b" }, expected: ["greeting"] },
    { title: "one state", query: { state: "Running" }, expected: ["farewell", "waves"] },
    { title: "a word of the message, in any case", query: { search: "SPOKEN" }, expected: ["farewell"] },
    { title: "the inbox", query: { view: "inbox" }, expected: ["greeting"] },
  ])("$title", ({ query, expected }) => expect(names(query)).toEqual(expected));

  it("counts the states of what matches besides the state, and names the namespaces", () => {
    const { states, namespaces, total } = select({ view: "jobs", state: "Running" });
    expect({ states, namespaces, total }).toEqual({
      states: { Halted: 1, Running: 2 },
      namespaces: ["team-a", "team-b"],
      total: 2,
    });
  });

  it("has pages, and gives the last one for a page that no longer exists", () => {
    expect(select({ sort: "name", pageSize: "2", page: "2" }).rows.map(({ name }) => name)).toEqual([
      "farewell",
      "greeting",
    ]);
    expect(select({ sort: "name", pageSize: "2", page: "9" })).toMatchObject({ page: 3, total: 5 });
  });

  it.each([{ page: "0" }, { pageSize: "201" }, { pageSize: "x" }, { sort: "message" }, { view: "secrets" }])(
    "refuses %j",
    (query) => expect(() => listQuerySchema.parse(query)).toThrow(),
  );
});
