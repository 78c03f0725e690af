import { join } from "node:path";
import {
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isExpressionStatement,
  isIfStatement,
  isImportDeclaration,
  isNumericLiteral,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isTypeNode,
  type Node,
  type SourceFile,
  SyntaxKind,
} from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";
import { type Mutant, ROOT } from "../mutant.ts";

/** What a random mutant changes. */
export const OPERATORS = [
  "condition",
  "equality",
  "logical",
  "arithmetic",
  "number",
  "boolean",
  "statement",
  "method",
] as const;
export type Operator = (typeof OPERATORS)[number];

/** One change of one place. `name`: `FILE:LINE:COLUMN OPERATOR`; `code`: its first line. */
export type Mutation = Mutant & { operator: Operator; at: number; code: string };

const SWAPPED: { [operator: string]: { operator: Operator; by: string } } = {
  "===": { operator: "equality", by: "!==" },
  "!==": { operator: "equality", by: "===" },
  "<": { operator: "equality", by: "<=" },
  "<=": { operator: "equality", by: "<" },
  ">": { operator: "equality", by: ">=" },
  ">=": { operator: "equality", by: ">" },
  "&&": { operator: "logical", by: "||" },
  "||": { operator: "logical", by: "&&" },
  "??": { operator: "logical", by: "&&" },
  "+": { operator: "arithmetic", by: "-" },
  "-": { operator: "arithmetic", by: "+" },
  "*": { operator: "arithmetic", by: "/" },
  "/": { operator: "arithmetic", by: "*" },
  "+=": { operator: "arithmetic", by: "-=" },
  "-=": { operator: "arithmetic", by: "+=" },
};
const SWAPPED_METHODS = new Map([
  ["some", "every"],
  ["every", "some"],
  ["min", "max"],
  ["max", "min"],
]);
const STEPS = { [SyntaxKind.PlusPlusToken]: "--", [SyntaxKind.MinusMinusToken]: "++" };
/** Statements without a value: calls that are also awaited, and assignments. */
const STATEMENTS = [SyntaxKind.CallExpression, SyntaxKind.AwaitExpression, SyntaxKind.DeleteExpression];
/** From here on, one more is no difference that somebody has to notice. */
const LARGE = 10;

/** Every mutation of the files, in the order of their code. */
export function mutationsOf(files: readonly string[]): Mutation[] {
  const api = new API({ cwd: ROOT });
  try {
    const config = join(ROOT, "tsconfig.json");
    const program = api.updateSnapshot({ openProjects: [config] }).getProject(config)?.program;
    return files.flatMap((file) => {
      const source = program?.getSourceFile(join(ROOT, file));
      if (source === undefined) throw new Error(`${file} is no part of tsconfig.json`);
      return mutationsIn(file, source);
    });
  } finally {
    api.close();
  }
}

function mutationsIn(file: string, source: SourceFile): Mutation[] {
  const found: Mutation[] = [];

  function add(operator: Operator, node: Node, replace: string): void {
    const at = node.getStart(source);
    const lines = source.text.slice(0, at).split("\n");
    const place = `${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
    const code = source.text.split("\n")[lines.length - 1]?.trim() ?? "";
    found.push({ name: `${file}:${place} ${operator}`, file, at, find: textOf(node), replace, operator, code });
  }
  const textOf = (node: Node) => source.text.slice(node.getStart(source), node.end);

  function addBinary(node: Node): void {
    if (!isBinaryExpression(node)) return;
    const swapped = SWAPPED[textOf(node.operatorToken)];
    const [left, right] = [textOf(node.left), textOf(node.right)];
    if (swapped === undefined || (swapped.operator === "arithmetic" && /["'`]/.test(left + right))) return;
    const isAssignment = /^[+-]=$/.test(swapped.by);
    add(
      swapped.operator,
      node,
      isAssignment ? `${left} ${swapped.by} ${right}` : `((${left}) ${swapped.by} (${right}))`,
    );
  }

  function visit(node: Node): void {
    if (isImportDeclaration(node) || isTypeNode(node) || TYPES.includes(node.kind)) return;
    if (isIfStatement(node)) add("condition", node.expression, `!(${textOf(node.expression)})`);
    if (isConditionalExpression(node)) add("condition", node.condition, `!(${textOf(node.condition)})`);
    addBinary(node);
    if (isNumericLiteral(node) && !isName(node)) add("number", node, otherNumber(textOf(node)));
    if (node.kind === SyntaxKind.TrueKeyword) add("boolean", node, "false");
    if (node.kind === SyntaxKind.FalseKeyword) add("boolean", node, "true");
    if (isPrefixUnaryExpression(node) || isPostfixUnaryExpression(node)) {
      const by = Object.entries(STEPS).find(([kind]) => Number(kind) === node.operator)?.[1];
      const operand = textOf(node.operand);
      if (by !== undefined) add("arithmetic", node, isPrefixUnaryExpression(node) ? by + operand : operand + by);
    }
    if (isCallExpression(node) && isPropertyAccessExpression(node.expression)) {
      const { name } = node.expression;
      const by = SWAPPED_METHODS.get(textOf(name));
      if (by !== undefined) add("method", name, by);
    }
    if (isExpressionStatement(node) && isRemovable(node.expression)) add("statement", node, ";");
    node.forEachChild((child) => visit(child));
  }

  const isName = (node: Node) => isPropertyAssignment(node.parent) && node.parent.name === node;

  /** What a log says is nobody's business. */
  const isRemovable = (node: Node) =>
    !/^(await )?(\w+\.)*log\./.test(textOf(node)) &&
    (STATEMENTS.includes(node.kind) || (isBinaryExpression(node) && /=$/.test(textOf(node.operatorToken))));

  visit(source);
  return found;
}

const TYPES = [SyntaxKind.TypeAliasDeclaration, SyntaxKind.InterfaceDeclaration];

function otherNumber(text: string): string {
  const value = Number(text.replaceAll("_", ""));
  return String(Math.abs(value) < LARGE ? value + 1 : value * 2);
}
