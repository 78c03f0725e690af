import { defineConfig } from "vitest/config";
import { fullTests, REPLICAS, SIMULATED_FORMS } from "./test/kinds.ts";

const full = fullTests();
const tests = (folder: string) => `${folder}/**/*.test.ts`;
/** Far beyond what a busy machine takes: only so that a hanging test ends. */
const LONGEST_MS = 300_000;
const LONGEST_FORM_MS = 3_600_000;
/** Modules keep no state, so files share them: loading them anew for each file takes half of the time. */
const shared = { environment: "node", isolate: false } as const;
const sameCases = "test/support/same-cases.ts";
const timeouts = { testTimeout: LONGEST_MS, hookTimeout: LONGEST_MS };
const controlPlane = {
  globalSetup: ["test/support/control-plane-setup.ts"],
  setupFiles: ["test/support/close-worlds.ts"],
};
/** One control plane serves every file. Most tests wait for a controller's next look: four files fill two cores. */
const cluster = { ...shared, ...timeouts, maxWorkers: 4, maxConcurrency: 20, ...controlPlane };
/** A control plane of their own, for one file after the other. */
const alone = { ...shared, ...timeouts, maxWorkers: 1, ...controlPlane };

/** The projects of test/kinds.ts. Each group has the machine to itself. */
export default defineConfig({
  test: {
    teardownTimeout: LONGEST_MS,
    projects: [
      {
        test: {
          ...shared,
          name: "unit",
          include: [tests("test/unit")],
          setupFiles: ["test/support/no-sockets.ts", sameCases],
          maxWorkers: "100%",
          ...timeouts,
        },
      },
      {
        test: {
          ...shared,
          name: "component",
          include: [tests("test/component"), "test/security/*.test.ts"],
          setupFiles: [sameCases],
          exclude: full,
          maxWorkers: "100%",
          ...timeouts,
        },
      },
      {
        test: {
          ...shared,
          name: "sim",
          include: [tests("test/sim"), tests("test/fuzz")],
          setupFiles: [sameCases],
          exclude: SIMULATED_FORMS.map(tests),
          ...timeouts,
          maxWorkers: "100%",
        },
      },
      {
        test: {
          ...shared,
          name: "forms",
          include: SIMULATED_FORMS.map(tests),
          testTimeout: LONGEST_FORM_MS,
          hookTimeout: LONGEST_FORM_MS,
          maxWorkers: "100%",
        },
      },
      {
        test: {
          ...cluster,
          name: "integration",
          include: [tests("test/integration"), "test/security/cluster/hostile-lists.test.ts"],
          exclude: full,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { ...cluster, name: "full", include: full, sequence: { groupOrder: 2 } } },
      {
        test: {
          ...alone,
          name: "memory",
          // Hundreds of objects of a megabyte fill the API server.
          include: ["test/security/cluster/large-*.test.ts"],
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...alone,
          name: "page",
          // A browser fills a core, and the time of the first list is measured.
          include: [tests("test/page")],
          sequence: { groupOrder: 4 },
        },
      },
      { test: { ...alone, name: "replicas", include: [tests(REPLICAS)], sequence: { groupOrder: 5 } } },
    ],
  },
});
