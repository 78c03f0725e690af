import { expect, it } from "vitest";
import {
  type SplitView,
  splitFile,
  splitView,
  statusSplit,
} from "../../../../../src/controllers/billing/report/split-view.ts";

const line = (namespace: string, amount: bigint, object = "") => ({ namespace, object, created: 0, amount });
const view = (change: Partial<SplitView> = {}): SplitView => ({
  by: "Namespace",
  scope: "All",
  lines: [line("film", 70_001n), line("=ads", 20_000n)],
  others: undefined,
  unattributed: 9_999n,
  ...change,
});
async function* nothing() {}

async function fileOf(format: "CSV" | "JSON", shown: SplitView): Promise<string> {
  let text = "";
  for await (const part of splitFile(
    format,
    nothing(),
    () => shown,
    () => ({ records: 2 }),
  ))
    text += part;
  return text;
}

it("the status adds the lines that it cuts off to the others", () => {
  const lines = Array.from({ length: 130 }, (_, index) => line(`ns-${index}`, 10_000n));
  const split = statusSplit(view({ lines }));
  expect(split.lines).toHaveLength(100);
  expect(split).toMatchObject({ others: "30", unattributed: "0.9999" });
});

it("a CSV has a line per share and one for the rest, and no formula", async () => {
  expect(await fileOf("CSV", view())).toBe(
    "line,namespace,kind,name,created,amount\r\nNamespace,film,,,,7.0001\r\nNamespace,'=ads,,,,2\r\nUnattributed,,,,,0.9999\r\n",
  );
});

it("a JSON has all lines", async () => {
  const lines = Array.from({ length: 130 }, (_, index) => line("film", 1n, `VideoJob/${index}`));
  const json = JSON.parse(await fileOf("JSON", view({ by: "Object", lines })));
  expect(json).toMatchObject({ records: 2, split: { by: "Object", unattributed: "0.9999" } });
  expect(json.split.lines).toHaveLength(130);
  expect(json.split.lines[7]).toEqual({
    namespace: "film",
    kind: "VideoJob",
    name: "7",
    created: "1970-01-01T00:00:00Z",
    amount: "0.0001",
  });
});

it("a namespace sees its own lines, and all others as one sum", () => {
  const result = { total: 100n, unattributed: 10n, shares: () => [line("film", 60n), line("ads", 30n)] };
  expect(splitView(result, "Namespace", { visibility: "Own", namespace: "ads" })).toEqual({
    by: "Namespace",
    scope: "Namespace",
    lines: [line("ads", 30n)],
    others: 70n,
    unattributed: undefined,
  });
});
