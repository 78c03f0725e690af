import { defineConfig } from "vitest/config";
import { fullTests, SIMULATED_FORMS } from "./test/kinds.ts";
import { changeBy } from "./test/sim/mutants/change.ts";
import { hasTool } from "./tools/programs/tool.ts";

/** The only tests of the code that talks to a bucket. They need versitygw. */
const BUCKET_TEST = "test/integration/artifacts/s3.test.ts";
const hasBucket = await hasTool("versitygw");

/** Runs what needs no other program while a file of `src/` is changed. The mutation checks start it, and set the variables. */
const { MOORING_MUTANT: mutant, MOORING_PLACES: places } = process.env;
const change = changeBy({ mutant, places });

export default defineConfig({
  plugins: [{ name: "mutant", enforce: "pre", transform: (code, id) => change(id, code) }],
  test: {
    include: [
      ...(hasBucket ? [BUCKET_TEST] : []),
      "test/{unit,component,sim,fuzz}/**/*.test.ts",
      "test/security/*.test.ts",
    ],
    exclude: [
      "test/unit/no-sockets.test.ts",
      "test/unit/mutants.test.ts",
      ...fullTests().filter((test) => test !== BUCKET_TEST),
      ...SIMULATED_FORMS.map((form) => `${form}/**`),
    ],
    ...(places === undefined ? {} : { setupFiles: ["test/sim/mutants/random/reached-by-tests.ts"] }),
    environment: "node",
    isolate: false,
    // Together less than LONGEST_SILENCE_MS: a test that waits for ever fails by its name.
    testTimeout: 90_000,
    hookTimeout: 45_000,
  },
});
