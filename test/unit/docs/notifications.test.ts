import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { projectRoot } from "../../support/pages.ts";

const read = (path: string) => readFile(join(projectRoot, path), "utf8");

/** The reasons of the pages of Events and of conditions. */
async function knownReasons(): Promise<Set<string>> {
  const pages = await Promise.all(["docs/reference/events.md", "docs/reference/reasons.md"].map(read));
  return new Set(
    pages.flatMap((page) => [...page.matchAll(/^\| `([A-Za-z]+)` \|/gm)].map(([, reason = ""]) => reason)),
  );
}

async function knownAlerts(): Promise<Set<string>> {
  const alerts = (await read("charts/mooring/files/alerts.yaml")).matchAll(/- alert: (\w+)/g);
  return new Set([...alerts].map(([, alert = ""]) => alert));
}

it("the Sensor filters by the controller's name and by reasons that exist", async () => {
  const documents = parseAllDocuments(await read("examples/notifications/argo-events.yaml")).map((one) => one.toJS());
  const { spec } = documents.find(({ kind }) => kind === "Sensor");
  const filters = new Map<string, string[]>();
  for (const { path, value } of spec.dependencies[0].filters.data) filters.set(path, value);
  const [controller] = filters.get("body.reportingController") ?? [];
  expect(await read("src/operator/context.ts")).toContain(`controller: "${controller}"`);
  const known = await knownReasons();
  const reasons = filters.get("body.reason") ?? [];
  expect(reasons.length).toBeGreaterThan(0);
  expect(reasons.filter((reason) => !known.has(reason))).toEqual([]);
});

it("the route of Alertmanager names alerts that exist", async () => {
  const { spec } = parse(await read("examples/notifications/alertmanager.yaml"));
  const names: string[] = spec.route.routes[0].matchers[0].value.split("|");
  const known = await knownAlerts();
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

it("the page names Events and alerts that exist", async () => {
  const [notifications = ""] = (await read("docs/how-to/alerts.md")).split("\n## ");
  const rows = notifications.split("\n").filter((line) => line.startsWith("| "));
  const reasons = await knownReasons();
  const alerts = await knownAlerts();
  const named = rows.slice(1).flatMap((row) => [...row.matchAll(/`([A-Z][A-Za-z]+)`/g)].map(([, name = ""]) => name));
  const others = ["HoldNew", "Ready"];
  expect(named.filter((name) => !reasons.has(name) && !alerts.has(name) && !others.includes(name))).toEqual([]);
});
