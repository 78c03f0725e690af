import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts", "test/security/*.test.ts"],
          environment: "node",
          globalSetup: ["tools/programs/setup.ts"],
          // Modules keep no state, so files share them: loading them anew for each file takes half of the time.
          isolate: false,
          maxWorkers: "100%",
          // Only so that a hanging test ends: thousands of cases take seconds on a machine that has other work.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "sim",
          include: ["test/sim/**/*.test.ts", "test/fuzz/**/*.test.ts"],
          environment: "node",
          // Only so that a hanging test ends: the seeds of a test take seconds on a machine that has other work.
          testTimeout: 300_000,
          isolate: false,
          maxWorkers: "100%",
        },
      },
      {
        test: {
          name: "integration",
          include: [
            "test/integration/**/*.test.ts",
            "test/faults/**/*.test.ts",
            "test/pairs/**/*.test.ts",
            "test/perturbation/**/*.test.ts",
            "test/security/cluster/hostile-lists.test.ts",
            "test/transitions/**/*.test.ts",
          ],
          environment: "node",
          // Far beyond what a busy machine takes: only so that a hanging test ends.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // One control plane serves every file. Most tests wait for a controller's next look: four files fill two cores.
          maxWorkers: 4,
          isolate: false,
          maxConcurrency: 20,
          // After the unit tests, which have the machine to themselves.
          sequence: { groupOrder: 1 },
          globalSetup: ["tools/programs/setup.ts", "test/support/control-plane-setup.ts"],
        },
      },
      {
        test: {
          name: "memory",
          include: ["test/security/cluster/large-*.test.ts"],
          environment: "node",
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // Hundreds of objects of a megabyte fill the API server: they have a control plane of their own.
          maxWorkers: 1,
          isolate: false,
          sequence: { groupOrder: 3 },
          globalSetup: ["tools/programs/setup.ts", "test/support/control-plane-setup.ts"],
        },
      },
      {
        test: {
          name: "page",
          include: ["test/page/**/*.test.ts"],
          environment: "node",
          // Far beyond what a busy machine takes: only so that a hanging test ends.
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // A browser fills a core.
          maxWorkers: 1,
          isolate: false,
          // After the integration tests: the time of the first list is measured.
          sequence: { groupOrder: 2 },
          globalSetup: ["tools/programs/setup.ts", "test/support/control-plane-setup.ts"],
        },
      },
    ],
  },
});
