import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { checkedDocuments } from "../../../../src/cli/use/validate.ts";
import { manifest, type Variant } from "../../../support/manifests.ts";

const problems = (content: string) =>
  checkedDocuments(content).flatMap(({ lines }) => lines.map(({ line, message }) => `${line}: ${message}`));
const examples = new URL("../../../../examples/", import.meta.url);

it("finds nothing wrong with the examples", async () => {
  const files = (await readdir(examples, { recursive: true })).filter((name) => name.endsWith(".yaml"));
  expect(files.length).toBeGreaterThan(8);
  for (const name of files) expect(problems(await readFile(new URL(name, examples), "utf8")), name).toEqual([]);
});

it.each<Variant>(["endpoint", "turbo", "hd", "image", "reference", "account", "clusterAccount"])(
  "takes a good %s",
  (variant) => expect(problems(stringify(manifest(variant)))).toEqual([]),
);

const GOOD = stringify(manifest("endpoint"));

describe("refuses in one line a time of a BillReport that does not exist", () => {
  const report = (change: Record<string, unknown>) =>
    problems(stringify(manifest("bill", { lastDays: null, ...change })));
  const TIME = "must be a time as in RFC 3339, such as 2026-02-01T00:00:00Z";
  it.each([
    { startTime: "2026-02-30T00:00:00Z", expected: "2026-02-30 is no day of the calendar: use an existing day" },
    { startTime: "2026-13-01T00:00:00Z", expected: "2026-13-01 is no day of the calendar: use an existing day" },
    { startTime: "2027-02-29", expected: "2027-02-29 is no day of the calendar: use an existing day" },
    { startTime: "2026-02-01", expected: TIME },
    { startTime: "yesterday", expected: TIME },
    { startTime: "2026-02-01t00:00:00z", expected: TIME },
  ])("$startTime", ({ startTime, expected }) => {
    expect(report({ startTime, endTime: "2026-02-20T00:00:00Z" })).toEqual([
      expect.stringMatching(new RegExp(`^\\d+: BillReport/sample: spec[.]startTime: ${expected}$`)),
    ]);
  });

  it("a time that exists is taken without quotes, as kubectl takes it", () => {
    expect(
      problems(
        "{apiVersion: mooring.dev/v1alpha1, kind: BillReport, metadata: {name: a}, spec: {startTime: 2026-02-01T00:00:00Z, category: 12:30}}",
      ),
    ).toEqual([]);
  });

  it("an endTime is checked too", () => {
    expect(report({ startTime: "2026-02-01T00:00:00Z", endTime: "2026-04-31T00:00:00Z" })).toEqual([
      expect.stringMatching(/: spec[.]endTime: 2026-04-31 is no day of the calendar: use an existing day$/),
    ]);
  });
});

describe("names the line, the object, the field and the allowed values", () => {
  it.each([
    {
      name: "a value out of range",
      content: GOOD.replace("port: 8000", "port: 2223"),
      expected: /^9: GpuEndpoint\/sample: spec\.port: port must not be 2222/,
    },
    {
      name: "a missing field, at what lacks it",
      content: GOOD.replace("  port: 8000\n", ""),
      expected: /^6: GpuEndpoint\/sample: spec\.port: is missing/,
    },
    {
      name: "a rule between fields",
      content: GOOD.replace("min: 1", "min: 3"),
      expected: /^11: .*spec\.workers\.min: workers\.min must not be above/,
    },
    {
      name: "a field of another case",
      content: GOOD.replace("port:", "clusterId: x\n  port:"),
      expected: /^9: .*spec\.clusterId: unknown field: did you mean clusterID\?/,
    },
    {
      name: "an unknown field in a list",
      content: GOOD.replace("- id:", "- name: x\n      id:"),
      expected: /^7: .*spec\.products\[0\]\.name: unknown field/,
    },
    { name: "an unknown field beside spec", content: `${GOOD}extra: 1\n`, expected: /extra: unknown field/ },
    {
      name: "yes as kubectl reads it",
      content: GOOD.replace("port:", "name: yes\n  port:"),
      expected: /^9: .*spec\.name: .*string/,
    },
    {
      name: "a bad name",
      content: GOOD.replace("name: sample", "name: Sample"),
      expected: /^4: GpuEndpoint\/Sample: metadata\.name: "Sample" must be lower-case/,
    },
    {
      name: "no name",
      content: GOOD.replace("name: sample", "labels: {}"),
      expected: /^4: GpuEndpoint: metadata\.name: is missing/,
    },
    {
      name: "another version",
      content: GOOD.replace("v1alpha1", "v1"),
      expected: /^1: .*apiVersion: mooring\.dev\/v1 is not served: use mooring\.dev\/v1alpha1/,
    },
    {
      name: "an unknown kind",
      content: GOOD.replace("kind: GpuEndpoint", "kind: Endpoint"),
      expected: /^2: .*there is no kind "Endpoint": use one of GpuEndpoint/,
    },
    {
      name: "a namespace where there is none",
      content: stringify(manifest("clusterAccount")).replace("name: sample", "name: sample\n  namespace: x"),
      expected: /^5: .*namespace: this kind has no namespace/,
    },
    { name: "broken YAML", content: "a: [1\nb: 2\n", expected: /^\d: not YAML: / },
    { name: "no object", content: "- 1\n", expected: /^1: object: is no object/ },
    { name: "no kind", content: "apiVersion: mooring.dev/v1alpha1\n", expected: /^1: object: kind: is missing/ },
  ])("$name", ({ content, expected }) => expect(problems(content)).toEqual([expect.stringMatching(expected)]));
});

it("numbers lines through the documents of a file, and passes over other kinds", () => {
  const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n";
  const content = `${secret}---\n${GOOD}---\n---\n${GOOD.replace("port: 8000", "port: 0")}`;
  expect(checkedDocuments(content).map(({ kind }) => kind)).toEqual(["Other", "Ours", "Ours"]);
  const line = content.split("\n").indexOf("  port: 0") + 1;
  expect(problems(content)).toEqual([expect.stringMatching(new RegExp(`^${line}: .*spec\\.port: `))]);
});

it("takes null for absent, as the API server does", () => {
  expect(problems(GOOD.replace("port:", "command: null\n  port:"))).toEqual([]);
});
