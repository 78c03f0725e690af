import { KINDS, type KindName, LONG_OPTIONS } from "./kinds.ts";

export type Arguments = {
  /** What the user called. */
  command: string;
  /** npm scripts to run first. */
  scripts: readonly string[];
  kinds: readonly KindName[];
  /** Whether the kinds are what the command runs without `--only`. */
  isWhole: boolean;
  /** Parts of paths. None: all tests. */
  filters: readonly string[];
  /** For each run of vitest. */
  options: readonly string[];
  /** For the report of all tests. */
  forReport: readonly string[];
  isLong: boolean;
  /** Variables of the long forms, without their prefix: `_SECONDS`. */
  variables: Readonly<Record<string, string>>;
  /** For every test. */
  env: Readonly<Record<string, string>>;
};

const SCRIPTS = ["lint", "typecheck"];
const VALUED = new Set(["--only", "--kubernetes", ...LONG_OPTIONS.map((name) => `--${name}`)]);
/** Options of vitest whose value is an argument of its own. */
const VALUED_BY_VITEST = new Set(["-t", "--testNamePattern"]);

/** @throws Error of one line when a kind or a value is unknown */
export function parseArguments([command = "test", ...rest]: readonly string[]): Arguments {
  const own = new Map<string, string>();
  const filters: string[] = [];
  const options: string[] = [];
  const forReport: string[] = [];
  for (let index = 0; index < rest.length; index++) {
    const argument = rest[index] ?? "";
    const [name = "", value] = argument.split(/=(.*)/s);
    if (VALUED.has(name)) own.set(name, value ?? rest[++index] ?? "");
    else if (name === "--long" || name === "--rest") own.set(name, "");
    else if (name === "--reporter" || name.startsWith("--outputFile")) forReport.push(argument);
    else if (VALUED_BY_VITEST.has(argument)) options.push(argument, rest[++index] ?? "");
    else (argument.startsWith("-") ? options : filters).push(argument);
  }
  const only = own.get("--only")?.split(",");
  const kubernetes = own.get("--kubernetes");
  const names = Object.keys(KINDS).filter(isKind);
  const unknown = only?.find((name) => !SCRIPTS.includes(name) && !isKind(name));
  if (unknown !== undefined) throw new Error(`--only ${unknown}: use ${[...SCRIPTS, ...names].join(", ")}`);
  const byDefault = (name: KindName) => {
    const { when } = KINDS[name];
    return when === "full" ? command === "test:full" : when === "test" && !own.has("--rest");
  };
  return {
    command: command === "test" ? "npm test" : `npm run ${command}`,
    scripts: only === undefined && own.has("--rest") ? [] : SCRIPTS.filter((name) => only?.includes(name) ?? true),
    kinds: names.filter((name) => only?.includes(name) ?? byDefault(name)),
    isWhole: only === undefined,
    filters,
    options,
    forReport,
    isLong: own.has("--long"),
    variables: Object.fromEntries(
      LONG_OPTIONS.filter((name) => own.has(`--${name}`)).map((name) => [
        `_${name === "select" ? "ONLY" : name.toUpperCase()}`,
        own.get(`--${name}`) ?? "",
      ]),
    ),
    env: kubernetes === undefined ? {} : { MOORING_KUBERNETES: kubernetes },
  };
}

const isKind = (name: string): name is KindName => Object.hasOwn(KINDS, name);
