import { mediaBatchResource } from "../../api/v1alpha1/kinds.ts";
import type { MediaBatch } from "../../api/v1alpha1/media-batch.ts";
import { keyOf } from "../../kube/types.ts";
import { isShortened } from "../../runtime/shortened.ts";
import { type Cause, verdictOf } from "../verdict.ts";
import { itemProblem, problemsText, type Quantities } from "./check.ts";
import type { BatchContext, BatchDeps } from "./deps.ts";
import type { Item } from "./items.ts";
import type { BatchMemory, CheckEnd } from "./memory.ts";
import { ItemsChangedError, sourceOf } from "./source.ts";

/** Re-check interval for items that cannot be used. */
const AGAIN_MS = 30_000;
/** A reconcile that finds items that cannot be used checks them again, but not more often. */
const LEAST_MS = 5_000;

/** Whether the items of a batch can be used. `Checking`: the batch is reconciled when it is known. */
export type ItemsState =
  | { kind: "Checking" }
  | { kind: "Usable"; end: Extract<CheckEnd, { kind: "Good" }> }
  | ({ kind: "Held"; stalled: boolean; againMs: number } & Cause);

/** Starts the check of all items when there was none, or when the items could not be used. It runs beside the reconciles. */
export function itemsState(deps: BatchDeps, memory: BatchMemory, context: BatchContext): ItemsState {
  const { shared } = deps;
  const now = shared.clock.monotonic();
  const { check } = memory;
  const state = check?.end === undefined ? undefined : stateOf(context.batch, check.end);
  if (state?.kind === "Usable") return state;
  const isOld = check !== undefined && now - check.at >= LEAST_MS;
  if (check === undefined || (state !== undefined && isOld)) startCheck(deps, memory, context);
  return state ?? { kind: "Checking" };
}

/** The items are not what they were: they are checked again. */
export function forgetCheck(memory: BatchMemory): void {
  memory.check = undefined;
}

function startCheck(deps: BatchDeps, memory: BatchMemory, { batch, account }: BatchContext): void {
  const { shared, turn } = deps;
  const abort = new AbortController();
  const check: NonNullable<BatchMemory["check"]> = { at: shared.clock.monotonic(), abort };
  const before = memory.check?.end;
  if (before !== undefined) check.end = before; // it holds until the new one ends
  memory.check = check;
  const quantities: Quantities = new Map();

  async function run(): Promise<CheckEnd> {
    const problemOf = (item: Item) => itemProblem(batch, item, account, quantities);
    const checked = await withWhole(deps, batch, abort.signal, (whole) =>
      memory.reader.check(sourceOf(whole, { ...deps, kube: shared.kube }), { problemOf, turn }, abort.signal),
    );
    if (checked.kind === "Bad") return checked;
    return { ...checked, quantities: [...quantities].map(([operation, quantity]) => ({ operation, quantity })) };
  }

  void run()
    .catch((error: unknown): CheckEnd => ({ kind: "Unreadable", error }))
    .then((end) => {
      if (memory.check !== check) return;
      memory.check = { end, at: shared.clock.monotonic(), abort };
      deps.enqueue(mediaBatchResource, keyOf(batch));
    });
}

/** Reads what the store keeps in part. @throws Error when the batch was deleted */
export async function withWhole<T>(
  { wholes }: Pick<BatchDeps, "wholes">,
  batch: MediaBatch,
  signal: AbortSignal,
  use: (whole: MediaBatch) => Promise<T>,
): Promise<T> {
  if (!isShortened(batch)) return use(batch);
  const whole = await wholes.read(batch, signal);
  if (whole === undefined) throw new Error(`MediaBatch ${keyOf(batch)} was deleted`);
  try {
    return await use(whole.object);
  } finally {
    whole.release();
  }
}

function stateOf(batch: MediaBatch, end: CheckEnd): ItemsState {
  const held = (cause: Cause, stalled = true): ItemsState => ({ kind: "Held", stalled, againMs: AGAIN_MS, ...cause });
  switch (end.kind) {
    case "Bad":
      return held({ reason: "InvalidItems", message: problemsText(end) });
    case "Unreadable": {
      if (end.error instanceof ItemsChangedError)
        return held({ reason: "Progressing", message: end.error.message }, false);
      const verdict = verdictOf(end.error);
      if (verdict.kind === "Done") throw new Error("an error is never Done", { cause: end.error });
      return held({ reason: verdict.reason, message: verdict.message }, verdict.kind === "Stalled");
    }
    case "Good": {
      const { items, total } = batch.status ?? {};
      if (items === undefined || items.hash === end.hash) return { kind: "Usable", end };
      return held({ reason: "ItemsChanged", message: differenceOf(total ?? 0, items.quantities, end) });
    }
  }
}

type Quantity = { operation: string; quantity: number };

function differenceOf(total: number, before: readonly Quantity[], end: Extract<CheckEnd, { kind: "Good" }>): string {
  const sum = (quantities: readonly Quantity[]) => quantities.reduce((all, { quantity }) => all + quantity, 0);
  const difference = end.total - total;
  const more = difference === 0 ? "as many" : `${Math.abs(difference)} ${difference > 0 ? "more" : "fewer"}`;
  return `The batch began with ${total} items (${sum(before)} characters or seconds), and now there are ${end.total} (${sum(end.quantities)}), ${more} with other content: restore the items, or create a new MediaBatch (with reuse, it pays only for what is new)`;
}
