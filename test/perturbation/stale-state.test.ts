import { beforeAll, it } from "vitest";
import { waitForEveryKind } from "./api-server-ready.ts";
import { LONGEST_MS, runDisturbed } from "./disturb.ts";
import { SCENARIOS } from "./scenarios.ts";
import { inScope } from "./scope.ts";
import { describePoint } from "./writes.ts";

beforeAll(waitForEveryKind);

/**
 * The operator dies after each write. The lists of the next one show the state before that write, or before the scenario if the
 * write was for the service.
 */
it.concurrent.for(SCENARIOS.filter(({ name }) => inScope(name, "StaleState")))(
  "$name: the outcome is the same after a restart with stale state",
  { timeout: LONGEST_MS },
  (scenario) =>
    runDisturbed(scenario, ({ writes }) =>
      writes.map((write) => {
        const crash = { ...write, moment: "after" as const };
        return { name: `stale ${describePoint(crash)}`, crash, stale: true as const };
      }),
    ),
);
