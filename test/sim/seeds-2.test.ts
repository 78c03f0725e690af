import { it } from "vitest";
import { expectHolds } from "./seeds.ts";

const BUDGET_MS = 15_000;

it("the invariants hold in seeds 21 to 40", () => expectHolds(21, 20, BUDGET_MS));
