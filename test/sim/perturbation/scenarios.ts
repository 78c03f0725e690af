import type { Scenario } from "./scenario.ts";
import { ACCOUNT_SCENARIOS } from "./scenarios/accounts.ts";
import { ENDPOINT_SCENARIOS } from "./scenarios/endpoints.ts";
import { JOB_SCENARIOS } from "./scenarios/jobs.ts";

/** The main scenarios of users. */
export const SCENARIOS: readonly Scenario[] = [...ENDPOINT_SCENARIOS, ...JOB_SCENARIOS, ...ACCOUNT_SCENARIOS];
