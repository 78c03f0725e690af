import { needsOf, testsIn } from "./needs.ts";

/** Tests that run together, in one project of vitest.config.ts. */
export type Kind = {
  /** `test`: part of `npm test`, and so of `test:full`. `full`: of `test:full` alone. `request`: runs when `--only` names it. */
  when: "test" | "full" | "request";
  project: string;
  /** They start the bundle of `dist/`. */
  built: boolean;
  /** A part of the project: paths begin so. */
  folders?: readonly string[];
  /** `--long` sets this variable to 1, and each of `LONG_OPTIONS` one that begins with it. */
  long?: string;
  /** A configuration of vitest of its own. */
  config?: string;
  /** Runs instead of vitest. */
  program?: string;
};

/** In the order of what fails fast. */
export const KINDS = {
  unit: { when: "test", project: "unit", built: false },
  component: { when: "test", project: "component", built: false },
  sim: { when: "test", project: "sim", built: false },
  integration: { when: "test", project: "integration", built: true },
  forms: { when: "full", project: "forms", built: false },
  full: { when: "full", project: "full", built: true },
  memory: { when: "full", project: "memory", built: true },
  page: { when: "full", project: "page", built: true, folders: ["test/page/"] },
  replicas: { when: "request", project: "replicas", built: true, long: "MOORING_REPLICAS" },
  attacks: {
    when: "request",
    project: "component",
    built: false,
    folders: ["test/security/"],
    long: "MOORING_CAMPAIGN",
  },
  campaign: simulated("campaign", "MOORING_CAMPAIGN"),
  pairs: simulated("pairs", "MOORING_PAIRS"),
  perturbation: simulated("perturbation", "MOORING_PERTURB"),
  transitions: simulated("transitions", "MOORING_TRANSITIONS"),
  e2e: { when: "request", project: "e2e", built: false, config: "vitest.e2e.config.ts" },
  batch: partOfFull("test/faults/batch/", "MOORING_BATCH"),
  upgrade: partOfFull("test/faults/kubernetes-upgrade.", "MOORING_UPGRADE"),
  mutants: {
    when: "request",
    project: "unit",
    built: false,
    long: "MOORING_MUTANTS",
    program: "test/sim/mutants/random/main.ts",
  },
} as const satisfies Readonly<Record<string, Kind>>;

export type KindName = keyof typeof KINDS;

/** `--jobs 60` is MOORING_CAMPAIGN_JOBS for the campaign, and `--select` is the variable's `_ONLY`. */
export const LONG_OPTIONS = ["items", "jobs", "endpoints", "kills", "seed", "rows", "select"];

/** Systematic searches for unknown defects in the simulation: `npm run test:sim -- FORM` runs them in full. */
export const SIMULATED_FORMS = ["campaign", "pairs", "perturbation", "transitions"].map((form) => `test/sim/${form}`);
/** Faults and searches for unknown defects at a real API server. In `npm test`, the simulation has them. */
const FORMS = ["test/faults"];
/** Has the machine to itself, because it measures times. */
export const REPLICAS = "test/faults/unstable-replicas";
/** Each takes more than a minute, mostly because it waits for what takes time with a real API server. */
const LONG = ["admitted-values", "cleanup", "demo", "import", "job-output", "tutorials"].map(
  (name) => `test/integration/${name}.test.ts`,
);
/** Where tests may need a program besides the control plane. */
const WITH_TOOLS = ["test/component", "test/integration"];

function partOfFull(start: string, long: string) {
  return { when: "request", project: "full", built: true, folders: [start], long } as const;
}

function simulated(form: string, long: string) {
  return { when: "request", project: "forms", built: false, folders: [`test/sim/${form}/`], long } as const;
}

/** The tests of the project `full`: the forms, those that take long, and all that need a tool. */
export function fullTests(): string[] {
  const withTools = testsIn(...WITH_TOOLS).filter((test) => needsOf(test).length > 0);
  const forms = testsIn(...FORMS).filter((test) => !test.startsWith(REPLICAS));
  return [...new Set([...forms, ...LONG, ...withTools])].sort();
}

/** The tests of this kind that may need a program; undefined when none does, and vitest's own search finds them. */
export function testsWithNeeds({ project, folders = [""] }: Kind): string[] | undefined {
  if (project !== "full" && project !== "page") return undefined;
  const tests = project === "full" ? fullTests() : testsIn("test/page");
  return tests.filter((test) => folders.some((start) => test.startsWith(start)));
}
