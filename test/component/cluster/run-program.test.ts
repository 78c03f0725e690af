import { expect, test } from "vitest";
import { runProgram } from "../../../tools/cluster/run-program.ts";

test("a program that a signal ends rejects with the reason of the signal", async () => {
  const stop = new AbortController();
  const run = runProgram("sleep", ["60"], { signal: stop.signal });
  stop.abort(new Error("the operator ended"));
  await expect(run).rejects.toThrow("the operator ended");
});
