import { expect, it } from "vitest";
import { observeTraces } from "../../../src/operator/traced-kind.ts";
import { markPartial } from "../../../src/runtime/shortened.ts";
import type { Change } from "../../../src/runtime/store.ts";
import { videoJobOf } from "../../support/jobs.ts";

type Job = ReturnType<typeof videoJobOf>;

const whole = videoJobOf("image", {}, undefined);
/** As a process stores the object of another one. */
const partial = videoJobOf("image", {}, undefined);
markPartial(partial);

it.each<{ what: string; change: Change<Job>; told: string[] }>([
  { what: "in the first list", change: { type: "Added", object: whole, initial: true }, told: ["listed"] },
  {
    what: "in the first list, of another process",
    change: { type: "Added", object: partial, initial: true },
    told: [],
  },
  { what: "created later", change: { type: "Added", object: whole, initial: false }, told: [] },
  {
    what: "of an account that the process takes over",
    change: { type: "Modified", object: whole, previous: partial },
    told: ["listed"],
  },
  { what: "changed", change: { type: "Modified", object: whole, previous: whole }, told: [] },
  { what: "deleted", change: { type: "Deleted", object: whole }, told: ["deleted"] },
  { what: "deleted, of another process", change: { type: "Deleted", object: partial }, told: [] },
])("the traces of an object that is $what: $told", ({ change, told }) => {
  const seen: string[] = [];
  const tracer = {
    written: () => void seen.push("written"),
    listed: () => void seen.push("listed"),
    deleted: () => void seen.push("deleted"),
  };
  const source = { last: () => undefined, cutOff: () => undefined, endedBy: () => [] };
  observeTraces<Job>({ onChange: (handler) => handler(change) }, source, tracer);
  expect(seen).toEqual(told);
});
