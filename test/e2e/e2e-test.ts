import { inject, test as vitestTest } from "vitest";
import type { Prepared } from "./setup.ts";

const found = inject("e2e");

/** Undefined where the end-to-end tests cannot run; test/e2e/setup.ts prints why. */
export const prepared: Prepared | undefined = typeof found === "string" ? undefined : found;

/** A test that is skipped where no cluster is. */
export const test = vitestTest.skipIf(prepared === undefined);
