import { beforeAll, it } from "vitest";
import { waitForEveryKind } from "./api-server-ready.ts";
import { LONGEST_MS, runDisturbed } from "./disturb.ts";
import { SCENARIOS } from "./scenarios.ts";
import { inScope } from "./scope.ts";
import { crashPointsOf, describePoint } from "./writes.ts";

beforeAll(waitForEveryKind);

it.concurrent.for(SCENARIOS.filter(({ name }) => inScope(name, "Crash")))(
  "$name: the outcome is the same after a crash before and after each write",
  { timeout: LONGEST_MS },
  (scenario) =>
    runDisturbed(scenario, ({ writes }) =>
      crashPointsOf(writes).map((crash) => ({ name: describePoint(crash), crash })),
    ),
);
