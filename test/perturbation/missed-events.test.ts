import { beforeAll, it } from "vitest";
import { waitForEveryKind } from "./api-server-ready.ts";
import { LONGEST_MS, runDisturbed } from "./disturb.ts";
import { SCENARIOS } from "./scenarios.ts";
import { inScope } from "./scope.ts";

beforeAll(waitForEveryKind);

it.concurrent.for(SCENARIOS.filter(({ name }) => inScope(name, "MissedEvent")))(
  "$name: the outcome is the same if the operator misses each watch event in turn",
  { timeout: LONGEST_MS },
  (scenario) =>
    runDisturbed(scenario, ({ events }) =>
      events.map((missed) => ({ name: `without ${missed.name} #${missed.occurrence}`, missed })),
    ),
);
