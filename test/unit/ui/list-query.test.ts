import { describe, expect, it } from "vitest";
import { listEntry, listQuerySchema, selectRows } from "../../../src/ui/list-query.ts";
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
  about: "",
  ...change,
});

const rows = [
  row("SpeechJob", "team-b", "greeting", { state: "Halted", needsUser: true, created: "2026-11-03T00:00:00Z" }),
  row("SpeechJob", "team-a", "farewell", { state: "Running", message: "half of it is spoken" }),
  row("VideoJob", "team-a", "waves", { state: "Running", created: "2026-11-02T00:00:00Z" }),
  row("GpuEndpoint", "team-a", "echo"),
  row("ClusterAccount", "", "default"),
];

const entries = rows.map((row) => {
  const { name, namespace, uid, created: creationTimestamp } = row;
  const labels = name === "waves" ? { book: "sea" } : {};
  const metadata = { name, namespace, uid, creationTimestamp, labels, resourceVersion: "1", generation: 1 };
  const spec = name === "farewell" ? { text: "Once upon a time there was a lighthouse." } : {};
  return listEntry(row, { metadata, spec });
});
const select = (query: Record<string, string> = {}) => selectRows(entries, listQuerySchema.parse(query));
const names = (query: Record<string, string>) => select(query).rows.map(({ name }) => name);

describe("a list", () => {
  it.each([
    {
      title: "objects that need a user come first",
      query: {},
      expected: ["greeting", "waves", "default", "echo", "farewell"],
    },
    { title: "jobs of both kinds", query: { view: "jobs", sort: "name" }, expected: ["farewell", "greeting", "waves"] },
    {
      title: "the newest first",
      query: { view: "jobs", sort: "created", order: "desc" },
      expected: ["greeting", "waves", "farewell"],
    },
    { title: "one namespace", query: { namespace: "team-b" }, expected: ["greeting"] },
    { title: "one state", query: { state: "Running" }, expected: ["waves", "farewell"] },
    { title: "a word of the message, in any case", query: { search: "SPOKEN" }, expected: ["farewell"] },
    { title: "a word of the text, however far behind", query: { search: "lighthouse" }, expected: ["farewell"] },
    { title: "a label", query: { search: "book=sea" }, expected: ["waves"] },
    { title: "all words, in any order", query: { search: "team-a running  waves" }, expected: ["waves"] },
    { title: "what needs a person", query: { view: "attention" }, expected: ["greeting"] },
  ])("$title", ({ query, expected }) => expect(names(query)).toEqual(expected));

  it("counts the states of what matches besides the state, and names the namespaces", () => {
    const { states, namespaces, total } = select({ view: "jobs", state: "Running" });
    expect({ states, namespaces, total }).toEqual({
      states: { Halted: 1, Running: 2 },
      namespaces: ["team-a", "team-b"],
      total: 2,
    });
  });

  it("is read in parts, and the last part is given for one that no longer exists", () => {
    const { rows: part, offset, total } = select({ sort: "name", limit: "2", offset: "2" });
    expect({ names: part.map(({ name }) => name), offset, total }).toEqual({
      names: ["farewell", "greeting"],
      offset: 2,
      total: 5,
    });
    expect(select({ sort: "name", limit: "2", offset: "9" })).toMatchObject({ offset: 3, total: 5 });
  });

  it.each([{ offset: "-1" }, { limit: "201" }, { limit: "x" }, { sort: "message" }, { view: "inbox" }])(
    "refuses %j",
    (query) => expect(() => listQuerySchema.parse(query)).toThrow(),
  );
});
