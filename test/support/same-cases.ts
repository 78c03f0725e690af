import fc from "fast-check";

/** Properties are checked with the same cases in each run: what fails here fails everywhere. `npm run test:sim -- fuzz` looks for others. */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
