import type * as z from "zod";

/** Characters of a value in a message. */
const SHOWN = 60;

type Issue = z.core.$ZodRawIssue;

/** For `safeParse`: messages that say what to write, in place of the library's. Rules have messages of their own. */
export const IN_OUR_WORDS: z.core.ParseContext<z.core.$ZodIssue> = { error: (issue) => wordingOf(issue, not(issue)) };

/** The same without the values: for those that may be secret, or that the message shows already. */
export const WITHOUT_VALUES: z.core.ParseContext<z.core.$ZodIssue> = { error: (issue) => wordingOf(issue, "") };

function wordingOf(issue: Issue, value: string): string | undefined {
  if (issue.input === undefined) {
    return issue.code === "invalid_value" ? `is missing: write ${oneOf(issue.values.map(String))}` : "is missing";
  }
  switch (issue.code) {
    case "invalid_type":
      return `must be ${TYPES[issue.expected] ?? issue.expected}${value}${hintOf(issue)}`;
    case "invalid_value":
      return `must be ${oneOf(issue.values.map(String))}${value}`;
    case "too_small":
      return `must ${bound(issue.origin, "at least", issue.minimum)}${value}`;
    case "too_big":
      return `must ${bound(issue.origin, "at most", issue.maximum)}${value}`;
    default:
      return undefined;
  }
}

const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object with fields",
  record: "an object with fields",
  array: "a list",
};

function hintOf({ expected, input }: Issue & { expected: string }): string {
  if (expected === "string" && (typeof input === "number" || typeof input === "boolean")) return ": write it in quotes";
  const isNumber =
    (expected === "number" || expected === "int") && typeof input === "string" && /^-?\d+([.]\d+)?$/.test(input);
  return isNumber || (expected === "boolean" && (input === "true" || input === "false"))
    ? ": write it without quotes"
    : "";
}

function bound(origin: string, which: string, value: number | bigint): string {
  if (origin === "string") return `have ${which} ${value} ${value === 1 ? "character" : "characters"}`;
  if (origin === "array") return `have ${which} ${value} ${value === 1 ? "item" : "items"}`;
  return `be ${which} ${value}`;
}

const oneOf = (values: readonly string[]) => (values.length === 1 ? String(values[0]) : `one of ${values.join(", ")}`);

/** The value of a variable can be a secret, and a text can be long. */
function not({ input, path = [] }: Issue): string {
  if (path.includes("env")) return "";
  if (typeof input === "string" && input.length > SHOWN) return `, not ${input.length} characters`;
  const isScalar = ["string", "number", "boolean"].includes(typeof input);
  return isScalar ? `, not ${JSON.stringify(input)}` : "";
}
