import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../../../package.json" with { type: "json" };
import { operatorMetrics } from "../../../scripts/reference/metrics-page.ts";
import { guideOf } from "../../../scripts/reference/pages.ts";
import { manifestProblems } from "../../../src/api/manifest/manifest-problems.ts";
import { KINDS } from "../../../src/api/v1alpha1/kinds.ts";
import { createProgram } from "../../../src/cli/program.ts";
import { commandsIn, fencedBlocks } from "../../support/markdown.ts";
import { chartValues, made, objectsIn } from "../../support/page-manifests.ts";
import { anchorsOf, documentationPages, projectRoot } from "../../support/pages.ts";

const pages = await documentationPages();
const textOf = new Map(pages.map(({ path, text }) => [path, text]));
const blocksOf = (language: string) =>
  pages.flatMap(({ path, text }) =>
    fencedBlocks(text)
      .filter((block) => block.language === language)
      .map(({ line, body }) => ({ place: `${path}:${line}`, path, body })),
  );

describe("links", () => {
  test.each(pages)("of $path lead to files and headings that exist", ({ path, text }) => {
    const prose = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, "");
    const links = [...prose.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)];
    for (const [, file = "", anchor] of links) {
      const target = file === "" ? path : normalize(join(dirname(path), file));
      expect(existsSync(join(projectRoot, target)), `${path} links to ${target}`).toBe(true);
      const page = textOf.get(target);
      if (anchor !== undefined && page !== undefined)
        expect(anchorsOf(page), `${path} links to ${target}`).toContain(anchor);
    }
  });
});

describe("a block of commands", () => {
  /** What decides about one object: two of them in a block contradict each other when the block is pasted. */
  const DECISION =
    /mooring\.dev\/(attach-task|resubmit-token|deletion-policy)=|--(task-id|resubmit|give-up)\b|delete (speechjob|videojob)\b|mooring (confirm-restore|cleanup)\b(?!.*--dry-run)/;

  test.each(blocksOf("sh"))("has one decision: $place", ({ body }) => {
    expect(body.split("\n").filter((line) => DECISION.test(line)).length).toBeLessThanOrEqual(1);
  });

  test.each(blocksOf("sh").filter(({ body }) => body.includes("--replicas=0")))(
    "that stops the operator waits until its pods have ended: $place",
    ({ body }) => expect(body).toMatch(/--replicas=0[\s\S]*kubectl wait --for=delete pod/),
  );
});

describe("manifests", () => {
  const manifests = blocksOf("yaml").filter(({ body }) => body.includes("apiVersion: mooring.dev/"));

  test.each(manifests)("$place is valid", ({ body }) => {
    for (const object of objectsIn({ body }).flatMap(made)) expect(manifestProblems(object) ?? []).toEqual([]);
  });
});

describe("values of the chart", async () => {
  const defaults: unknown = parse(await readFile(join(projectRoot, "charts/mooring/values.yaml"), "utf8"));

  test.each(chartValues(pages))("of $place have the names of values.yaml", ({ values }) => {
    expect(unknownNames(values, defaults)).toEqual([]);
  });

  test("a wrong name is found", () => {
    expect(unknownNames({ image: { repositry: "a" } }, defaults)).toEqual(["image.repositry"]);
  });

  /** Paths in `values` that `known` does not have. What is empty in `known` may have any content. */
  function unknownNames(values: unknown, known: unknown, path: readonly string[] = []): string[] {
    if (!isRecord(values) || !isRecord(known) || Object.keys(known).length === 0) return [];
    return Object.entries(values).flatMap(([name, value]) =>
      name in known ? unknownNames(value, known[name], [...path, name]) : [[...path, name].join(".")],
    );
  }
});

describe("mooring commands", () => {
  const commands = blocksOf("sh").flatMap(({ place, body }) =>
    commandsIn(body)
      .filter(({ program }) => program === "mooring")
      .map((command) => ({ place, ...command })),
  );

  test.each(commands)("$place mooring $text", async ({ args, flags }) => {
    const command = (await createProgram()).commands.find((one) => one.name() === args[0]);
    const known = command?.options.flatMap(({ short, long }) => [short, long]) ?? [];
    expect(command, `mooring ${args[0]}`).toBeDefined();
    for (const flag of flags) expect(known).toContain(flag);
  });
});

describe("the version of Node", () => {
  const STATED = /Node(?:\.js)? v?\d+/;

  test("is stated in docs/tutorials/first-endpoint.md, and on no other page", async () => {
    const contributing = {
      path: "CONTRIBUTING.md",
      text: await readFile(join(projectRoot, "CONTRIBUTING.md"), "utf8"),
    };
    const stating = [...pages, contributing].filter(({ text }) => STATED.test(text)).map(({ path }) => path);
    expect(stating).toEqual([]);
    const needed = packageJson.engines.node.replace(">=", "");
    expect(textOf.get("docs/tutorials/first-endpoint.md")).toContain(`| Node alone | ${needed} or newer |`);
  });
});

describe("guides", () => {
  test.each(KINDS)("docs/how-to has a page for $resource.kind with an example and a link to its fields", (kind) => {
    const path = `docs/how-to/${guideOf(kind)}.md`;
    const examples = blocksOf("yaml").filter((block) => block.path === path);
    const kinds = examples.flatMap(({ body }) => objectsIn({ body })).map((object) => object.kind);
    expect(kinds).toContain(kind.resource.kind);
    expect(textOf.get(path)).toContain(`(../reference/${kind.singular}.md)`);
  });
});

describe("runbooks", async () => {
  const rules: { groups: { rules: { alert: string; labels: { severity: string } }[] }[] } = parse(
    await readFile(join(projectRoot, "charts/mooring/files/alerts.yaml"), "utf8"),
  );
  const alerts = rules.groups.flatMap((group) => group.rules);
  const path = "docs/how-to/alerts.md";
  const books = (textOf.get(path) ?? "").split("\n## ").filter((section) => section.startsWith("Mooring"));

  test("are there for each alert, and for no other", () => {
    expect(books.map((book) => book.split("\n")[0]).sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });

  test.each(alerts)("$alert says what it means, how to check it and how to fix it", ({ alert, labels }) => {
    const text = books.find((book) => book.startsWith(`${alert}\n`)) ?? "";
    expect(text.startsWith(`${alert}\n\nSeverity: ${labels.severity}.\n`)).toBe(true);
    expect([...text.matchAll(/^\*\*(\w+)\.\*\*/gm)].map(([, title]) => title)).toEqual([
      "Meaning",
      "Impact",
      "Check",
      "Fix",
    ]);
    const check = text.slice(text.indexOf("**Check.**"), text.indexOf("**Fix.**"));
    expect(fencedBlocks(check).flatMap(({ body }) => commandsIn(body)).length).toBeGreaterThan(1);
  });

  test.each(alerts)("the page lists $alert", ({ alert, labels }) => {
    expect(textOf.get(path)).toContain(`| [${alert}](#${alert.toLowerCase()}) | ${labels.severity} | `);
  });

  test.each(blocksOf("promql"))("$place names only metrics that exist", ({ body }) => {
    const names =
      body.replaceAll(/"[^"]*"/g, "").match(/\b(mooring|workqueue|controller_runtime|rest_client)_\w+/g) ?? [];
    const known = operatorMetrics().flatMap(({ name }) => [name, `${name}_bucket`]);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect(known).toContain(name);
  });
});

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
