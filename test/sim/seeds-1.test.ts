import { it } from "vitest";
import { expectHolds } from "./seeds.ts";

/** A file for each core: they run at the same time. */
const BUDGET_MS = 20_000;

it("the invariants hold in seeds 1 to 20", () => expectHolds(1, 20, BUDGET_MS));
