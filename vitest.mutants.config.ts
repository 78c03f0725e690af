import { defineConfig } from "vitest/config";
import { fullTests, SIMULATED_FORMS } from "./test/kinds.ts";
import { changeBy } from "./test/sim/mutants/change.ts";

/** Runs what needs no program while a file of `src/` is changed. The mutation checks start it, and set the variables. */
const { MOORING_MUTANT: mutant, MOORING_PLACES: places } = process.env;
const change = changeBy({ mutant, places });

export default defineConfig({
  plugins: [{ name: "mutant", enforce: "pre", transform: (code, id) => change(id, code) }],
  test: {
    include: ["test/{unit,component,sim,fuzz}/**/*.test.ts", "test/security/*.test.ts"],
    exclude: [
      "test/unit/no-sockets.test.ts",
      "test/unit/mutants.test.ts",
      ...fullTests(),
      ...SIMULATED_FORMS.map((form) => `${form}/**`),
    ],
    ...(places === undefined ? {} : { setupFiles: ["test/sim/mutants/random/reached-by-tests.ts"] }),
    environment: "node",
    isolate: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
