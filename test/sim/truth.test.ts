import { expect, it } from "vitest";
import { textAt } from "./api-server/json.ts";
import { watchStatuses } from "./invariants/statuses.ts";
import { runScenario } from "./perturbation/run.ts";
import { SCENARIOS } from "./perturbation/scenarios.ts";

/** What the perturbed runs are compared with. */
it.each(SCENARIOS)(
  "$name: undisturbed, no status contradicts its object, an earlier status, or the service",
  async (scenario) => {
    const contradictions: string[] = [];
    const { failure } = await runScenario({
      ...scenario,
      async prepare(stage) {
        watchStatuses({
          ...stage,
          tell: ({ kind, metadata }, problems) =>
            contradictions.push(`${kind} ${textAt(metadata, "name")}: ${problems.join("; ")}`),
        });
        await scenario.prepare?.(stage);
      },
    });
    expect(failure).toBe("");
    expect(contradictions).toEqual([]);
  },
);
