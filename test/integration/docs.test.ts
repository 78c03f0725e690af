import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { OPERATIONS } from "../../src/provider/operations.ts";
import { CHART, helm } from "../support/chart.ts";
import { kubectlInNamespace } from "../support/kubectl.ts";
import { commandsIn, fencedBlocks } from "../support/markdown.ts";
import { chartValues, made, objectsIn } from "../support/page-manifests.ts";
import { documentationPages, projectRoot } from "../support/pages.ts";

const bundle = join(projectRoot, "dist/mooring.mjs");
const pages = await documentationPages();
const { kubectl, accepted } = kubectlInNamespace("docs");

/** What a program prints for these arguments; each is asked once. */
function remembered(ask: (args: string[]) => Promise<string>): (...args: string[]) => Promise<string> {
  const answers = new Map<string, Promise<string>>();
  return (...args) => {
    const key = args.join(" ");
    const answer = answers.get(key) ?? ask(args);
    answers.set(key, answer);
    return answer;
  };
}
const kubectlHelp = remembered(async (args) => (await kubectl(args)).stdout);
const helmHelp = remembered(async (args) => (await helm(...args)).stdout);
const mooringHelp = remembered(async (args) => (await promisify(execFile)(process.execPath, [bundle, ...args])).stdout);

describe("manifests", () => {
  const manifests = pages.flatMap(({ path, text }) =>
    fencedBlocks(text)
      .filter(({ language, body }) => language === "yaml" && body.includes("apiVersion: mooring.dev/"))
      .map(({ line, body }) => ({ place: `${path}:${line}`, body })),
  );

  test("are there", () => expect(manifests.length).toBeGreaterThan(4));

  test.each(manifests)("$place is accepted by the API server", async ({ body }) => {
    for (const object of objectsIn({ body }).flatMap(made)) await accepted(object, { dryRun: true });
  });
});

describe("values of the chart", () => {
  const values = chartValues(pages);

  test("are there", () => expect(values.length).toBeGreaterThan(4));

  test.each(values)("of $place are accepted by the chart", async ({ values }) => {
    const folder = await mkdtemp(join(tmpdir(), "mooring-values-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "values.yaml"), stringify(values));
    expect(await helm("template", CHART, "--values", join(folder, "values.yaml"))).toMatchObject({ code: 0 });
  });
});

describe("commands", () => {
  const commands = pages.flatMap(({ path, text }) =>
    fencedBlocks(text)
      .filter(({ language }) => language === "sh")
      .flatMap(({ line, body }) => commandsIn(body).map((command) => ({ place: `${path}:${line}`, ...command }))),
  );
  const of = (program: string) => commands.filter((command) => command.program === program);
  let resources: string;

  beforeAll(async () => {
    resources = (await kubectl(["api-resources", "--no-headers"])).stdout;
  });

  test("are of programs that are checked here", () => {
    expect(commands.length).toBeGreaterThan(20);
    expect([...new Set(commands.map(({ program }) => program))].sort()).toEqual([
      "cd",
      "curl",
      "docker",
      "git",
      "helm",
      "kubectl",
      "mooring",
      "npm",
    ]);
  });

  test.each(of("kubectl"))("$place kubectl $text", async ({ args, flags }) => {
    const [verb = "", second = ""] = args;
    const sub = verb === "create" ? [verb, second, args[2] ?? ""] : [verb];
    const help = await kubectlHelp(...sub, "--help");
    const common = await kubectlHelp("options");
    expect(help).toContain(`kubectl ${sub[0]}`);
    for (const flag of flags) expect(`${help}${common}`, `kubectl ${sub.join(" ")} ${flag}`).toMatch(flagIn(flag));
    if (!["get", "describe", "delete", "patch", "annotate", "wait", "scale"].includes(verb)) return;
    const kinds = second.split("/")[0]?.split(",") ?? [];
    for (const kind of kinds) {
      if (kind === "mooring") expect((await kubectl(["get", "mooring"])).code, "the category mooring").toBe(0);
      else expect(resources.toLowerCase(), `kind ${kind}`).toMatch(new RegExp(`(^|[\\s,])${kind}s?([\\s,]|$)`, "m"));
    }
  });

  test.each(of("mooring"))("$place mooring $text", async ({ args, flags }) => {
    const stdout = await mooringHelp(args[0] ?? "", "--help");
    expect(stdout).toContain(`Usage: mooring ${args[0]}`);
    for (const flag of flags) expect(stdout, flag).toMatch(flagIn(flag));
  });

  test.each(of("helm"))("$place helm $text", async ({ args, flags, text }) => {
    const [verb = ""] = args;
    const help = await helmHelp(verb, "--help");
    expect(help).toContain(`helm ${verb}`);
    for (const flag of flags) expect(help, `helm ${verb} ${flag}`).toMatch(flagIn(flag));
    const settings = [...text.matchAll(/--set (\S+)/g)].map(([, setting]) => setting ?? "");
    expect(await helm("template", CHART, ...settings.flatMap((one) => ["--set", one]))).toMatchObject({ code: 0 });
  });

  test.each(of("docker"))("$place docker $text", ({ args }) =>
    expect(["build", "pull", "push", "tag"]).toContain(args[0]),
  );

  test.each(of("npm"))("$place npm $text", ({ args }) => {
    if (args[0] === "run") expect(Object.keys(packageJson.scripts)).toContain(args[1]);
    else expect(["ci", "link", "test"]).toContain(args[0]);
  });

  test.each([...of("git"), ...of("cd")])("$place $program $text", ({ program, text }) => {
    expect(["git clone https://github.com/mooring-dev/mooring", "cd mooring"]).toContain(`${program} ${text}`);
  });

  test.each(of("curl"))("$place curl $text", ({ text }) => {
    const service = /https:\/\/api\.example\.com(\/\S+)/.exec(text)?.[1];
    if (service !== undefined) return expect(Object.values(OPERATIONS).map(({ path }) => path)).toContain(service);
    const path = /https?:\/\/127\.0\.0\.1:\d+(\/\w+)/.exec(text)?.[1];
    expect(["/__audit", "/__config", "/__faults", "/__state", "/debug"]).toContain(path);
  });
});

function flagIn(flag: string): RegExp {
  return new RegExp(`(^|[\\s,])${flag}([\\s,=]|$)`, "m");
}
