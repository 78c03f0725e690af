import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { mutantNamed } from "./test/sim/mutants/all.ts";
import { mutated, ROOT } from "./test/sim/mutants/mutant.ts";

/** Runs unit and component tests without one guard of the operator. The mutation checks start it and set MOORING_MUTANT. */
const mutant = mutantNamed(process.env["MOORING_MUTANT"] ?? "");

export default defineConfig({
  plugins: [
    {
      name: "mutant",
      enforce: "pre",
      transform(code, id) {
        return id === join(ROOT, mutant.file) ? mutated(mutant, code) : undefined;
      },
    },
  ],
  test: {
    include: [
      "test/unit/**/*.test.ts",
      "test/component/**/*.test.ts",
      "test/security/*.test.ts",
      "test/sim/{leaks,copies,backoff}.test.ts",
    ],
    exclude: ["test/unit/no-sockets.test.ts"],
    environment: "node",
    isolate: false,
    testTimeout: 60_000,
  },
});
