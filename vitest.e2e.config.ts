import { defineConfig } from "vitest/config";

/** `npm run test:full -- --only e2e`: one story in order, and nothing after what fails. All files use the same cluster, one after the other. */
export default defineConfig({
  test: {
    name: "e2e",
    include: ["test/e2e/**/*.test.ts"],
    environment: "node",
    globalSetup: ["test/e2e/setup.ts"],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 1_800_000,
    bail: 1,
  },
});
