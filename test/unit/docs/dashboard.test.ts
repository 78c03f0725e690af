import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectRoot } from "../../support/pages.ts";

type Target = { expr: string; datasource: unknown; exemplar?: boolean };
type Panel = {
  id: number;
  type: string;
  title: string;
  description: string;
  datasource: unknown;
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig: { defaults: { unit: string } };
  targets: Target[];
};
type Dashboard = {
  panels: Panel[];
  templating: { list: { name: string; type: string; datasource?: unknown }[] };
};

const path = join(projectRoot, "charts/mooring/files/dashboard.json");
const dashboard: Dashboard = JSON.parse(await readFile(path, "utf8"));
const panels = dashboard.panels.filter(({ type }) => type !== "row");
const DATA_SOURCE = { type: "prometheus", uid: `\${datasource}` };

it("has a row for each topic", () => {
  const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
  expect(rows).toEqual([
    "Health",
    "Stuck objects and their age",
    "Endpoints and drift",
    "Waiting times",
    "Accounts near a limit",
    "Cost",
    "Requests to the service",
    "Operator",
  ]);
});

it("offers data source, account and namespace as variables", () => {
  const { list } = dashboard.templating;
  expect(list.map(({ name, type }) => `${name}: ${type}`)).toEqual([
    "datasource: datasource",
    "account: query",
    "namespace: query",
  ]);
  for (const { datasource } of list.slice(1)) expect(datasource).toEqual(DATA_SOURCE);
});

describe.each(panels.map((panel) => [panel.title, panel] as const))("%s", (_title, panel) => {
  it("has a description of whole sentences, a unit and the data source of the variable", () => {
    expect(panel.description).toMatch(/^[A-Z0-9].{20,}\.$/s);
    expect(panel.fieldConfig.defaults.unit).not.toBe("");
    for (const { datasource } of [panel, ...panel.targets]) expect(datasource).toEqual(DATA_SOURCE);
    expect(panel.targets.length).toBeGreaterThan(0);
  });

  it("filters by what its metrics are labeled with", () => {
    for (const { expr } of panel.targets) {
      for (const [, metric, selector = ""] of expr.matchAll(/\b(mooring_\w+)(\{[^}]*\})?/g)) {
        if (/^mooring_(account_|budget|spend|service_requests|tasks|bills|breaker)/.test(metric ?? "")) {
          expect(selector, expr).toContain('account=~"$account"');
        }
        if (/^mooring_(namespace|stuck|estimated)/.test(metric ?? "")) {
          expect(selector, expr).toContain('namespace=~"$namespace"');
        }
      }
    }
  });

  it("overlaps no other panel", () => {
    const { x, y, w, h } = panel.gridPos;
    expect(x + w).toBeLessThanOrEqual(24);
    const others = dashboard.panels.filter(
      ({ id, gridPos: other }) =>
        id !== panel.id && other.x < x + w && x < other.x + other.w && other.y < y + h && y < other.y + other.h,
    );
    expect(others.map(({ title }) => title)).toEqual([]);
  });
});

it("each panel has an identifier of its own", () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
});
