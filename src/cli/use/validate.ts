import type { Command } from "commander";
import { type Document, isNode, LineCounter, parseAllDocuments } from "yaml";
import { manifestProblems } from "../../api/manifest/manifest-problems.ts";
import { oneLine } from "../../base/manifest-yaml.ts";
import { exitCodesHelp } from "../exit-codes.ts";
import { KUBECTL_YAML, manifestFiles } from "./manifest-files.ts";

const HELP = `
Skips objects of other kinds.

Examples:
  mooring validate manifests/
  kustomize build . | mooring validate -

`;

/** `mooring validate`: checks manifests by the rules of the CRDs, without a cluster. */
export function registerValidateCommand(program: Command): void {
  program
    .command("validate")
    .description("check manifests by the rules that the API server applies, without a cluster")
    .argument("<file...>", "YAML or JSON files, directories of them, or - for standard input")
    .addHelpText("after", HELP + exitCodesHelp("validate"))
    .action(async (files: string[]) => {
      process.exitCode = await run(files);
    });
}

async function run(paths: readonly string[]): Promise<number> {
  let [objects, others, problems] = [0, 0, 0];
  for await (const { path: file, content } of manifestFiles(paths)) {
    for (const { kind, lines } of checkedDocuments(content)) {
      if (kind === "Ours") objects++;
      else others++;
      problems += lines.length;
      for (const { line, message } of lines) process.stdout.write(`${file}:${line}: ${oneLine(message)}\n`);
    }
  }
  const passedOver = others === 0 ? "" : `, ${others} of other kinds passed over`;
  process.stderr.write(`${counted(objects, "object")} checked${passedOver}, ${counted(problems, "problem")}\n`);
  return problems === 0 ? 0 : 1;
}

const counted = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;

export type CheckedDocument = { kind: "Ours" | "Other"; lines: { line: number; message: string }[] };

/** Every document of a file with its problems, each with its line from 1. Read as kubectl reads it. */
export function checkedDocuments(content: string): CheckedDocument[] {
  const counter = new LineCounter();
  const documents = parseAllDocuments(content, { ...KUBECTL_YAML, lineCounter: counter });
  return documents.flatMap((document): CheckedDocument[] => {
    if (document.errors.length > 0) {
      const lines = document.errors.map(({ pos, message }) => ({
        line: counter.linePos(pos[0]).line,
        message: `not YAML: ${message.split("\n")[0]?.replace(/ at line \d+, column \d+:$/, "")}`,
      }));
      return [{ kind: "Ours", lines }];
    }
    const object: unknown = document.toJS();
    if (object === null) return []; // nothing between two lines of dashes
    const problems = manifestProblems(object);
    if (problems === undefined) return [{ kind: "Other", lines: [] }];
    const what = nameOf(object);
    const lines = problems.map(({ path, message }) => ({
      line: counter.linePos(offsetOf(document, path)).line,
      message: `${what}: ${pathText(path)}${message}`,
    }));
    return [{ kind: "Ours", lines: lines.sort((a, b) => a.line - b.line) }];
  });
}

/** Where the value stands, or the closest thing around it that exists. */
function offsetOf(document: Document.Parsed, path: readonly (string | number)[]): number {
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return node.range[0];
  }
  return 0;
}

function nameOf(object: unknown): string {
  const { kind, metadata } = object as { kind?: unknown; metadata?: { name?: unknown } };
  return [kind, metadata?.name].filter((part) => typeof part === "string").join("/") || "object";
}

function pathText(path: readonly (string | number)[]): string {
  const words = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
  return words === "" ? "" : `${words.replace(/^\./, "")}: `;
}
