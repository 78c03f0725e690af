import type { Bill } from "../../provider/money/money-records.ts";
import { OPERATION_NAMES, OPERATIONS, type Operation } from "../../provider/operations.ts";

/**
 * Meters, by which a bill is split.
 * `product/ID`: the workers of all endpoints with this product, in card-seconds (GPUs times seconds).
 * `model/NAME`: the jobs of the operations that use this model, in characters of speech or seconds of video.
 */
export type Meter = `product/${string}` | `model/${string}`;

/** An entry of `spec.billing.products`: the bills of a product pay for the jobs of an operation. */
export type ProductMapping = { operation: Operation; product: string };

/** Whether a meter counts the workers of endpoints. */
export const countsWorkers = (meter: Meter): boolean => meter.startsWith("product/");

/** The meter of the endpoints with a product. */
export const productMeter = (productID: string): Meter => `product/${productID}`;

/** The meter of the jobs that an operation serves. @throws Error when the operation is not paid */
export function operationMeter(operation: Operation): Meter {
  const { model } = OPERATIONS[operation];
  if (model === undefined) throw new Error(`operation ${operation} is not paid: it has no meter`);
  return `model/${model}`;
}

/**
 * Finds the meter of a bill by its product ID or its product name: first in `products`, then among the models of the
 * interface, as the model's name or as the last part of the operation's path. Any other bill has the meter of its product ID.
 */
export function meterOfBills(
  products: readonly ProductMapping[] = [],
): (bill: Pick<Bill, "productID" | "productName">) => Meter {
  const meters = new Map<string, Meter>();
  for (const operation of OPERATION_NAMES) {
    const { model, path } = OPERATIONS[operation];
    if (model === undefined) continue;
    for (const name of [model, path.split("/").at(-1) ?? model]) {
      meters.set(name.toLowerCase(), `model/${model}`);
    }
  }
  for (const { operation, product } of products) {
    const { model } = OPERATIONS[operation];
    if (model !== undefined) meters.set(product.toLowerCase(), `model/${model}`);
  }

  return ({ productID, productName }) =>
    meters.get(productID.toLowerCase()) ?? meters.get(productName.toLowerCase()) ?? productMeter(productID);
}
