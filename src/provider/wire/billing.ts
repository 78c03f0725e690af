import * as z from "zod";
import { isRecord, lenientBigInt, lenientNumber, lenientRecord, lenientText, pageList } from "./lenient.ts";

/** Bills and budgets (interface: Billing and budgets). Money is in 1/10000 yuan unless the name says otherwise. */

/**
 * Money and counts stay strings, as they came: they are exact, and what to do with them is the caller's to say.
 * billNum0-15, basePrice0-5 and discountPrice0-5 are kept as unknown fields are.
 */
export const bill = z.looseObject({
  userId: lenientText,
  startTime: lenientText,
  endTime: lenientText,
  billingMethod: lenientNumber,
  productName: lenientText,
  category: lenientText,
  ownerID: lenientText,
  apikeyName: lenientText,
  apikeyMask: lenientText,
  productId: lenientText,
  amount: lenientText,
  voucherAmount: lenientText,
  payAmount: lenientText,
  payAmountDisplay: lenientNumber,
  pricePrecision: lenientNumber,
  llmSeries: lenientText,
  requestCount: lenientText,
  multimodalPricing: lenientRecord,
  tieredConfig: lenientRecord,
});
export type BillWire = z.output<typeof bill>;
/** `record` reads one bill. */
export const billPageOf = <S extends z.ZodType>(record: S) => z.looseObject({ bills: pageList(record) });

export const keyBudget = z
  .unknown()
  .refine(isRecord, "must be an object")
  .pipe(
    z.looseObject({
      key_id: lenientText,
      key_name: lenientText,
      budget_type: lenientText,
      budget_limit: lenientBigInt,
      used: lenientBigInt,
      remaining: lenientBigInt,
      cycle: lenientText,
      period_start: lenientText,
      period_end: lenientText,
    }),
  );
export type KeyBudgetWire = z.output<typeof keyBudget>;
/** `record` reads one budget. */
export const keyBudgetPageOf = <S extends z.ZodType>(record: S) => z.looseObject({ key_budgets: pageList(record) });
