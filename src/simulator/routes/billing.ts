import * as z from "zod";
import { billsOf } from "../bills.ts";
import { budgetsOf } from "../charging.ts";
import type { RouteTable } from "../dispatch.ts";
import { refuse } from "../refusal.ts";
import { queryInteger } from "../requests/fields.ts";
import type { Service } from "../service.ts";
import { checked } from "../validate.ts";

/** Interface: only data after 2026-01-01 00:00:00 can be queried. Unix seconds in UTC. */
const BILLS_FROM_UTC = Date.UTC(2026, 0, 1) / 1000;

const billsQuery = z
  .strictObject({
    cycleType: z.enum(["Day", "Week", "Month"]),
    category: z.string().optional(),
    productName: z.string().optional(),
    startTime: queryInteger,
    endTime: queryInteger,
  })
  .refine(({ startTime, endTime }) => endTime > startTime, {
    path: ["endTime"],
    error: "must be greater than startTime",
  });
const budgetsQuery = z.strictObject({ member_id: z.string() });

/** Serves the bills of API keys and the budgets of a member's keys. */
export function billingRoutes(routes: RouteTable, service: Service): void {
  const { config, ledger } = service;

  routes.add({
    method: "GET",
    path: "/openapi/v1/billing/apikey/bill/list",
    operation: "listBills",
    handle: ({ query }) => {
      const { cycleType, category, productName, startTime, endTime } = checked(
        billsQuery,
        query,
        config().unknownFields,
      );
      const { billingUtcOffsetHours, fractionalAmounts } = config();
      if (startTime < BILLS_FROM_UTC - billingUtcOffsetHours * 3600) {
        throw refuse.invalid("startTime: must not be earlier than 2026-01-01 00:00:00");
      }
      service.accrueAll();
      const wanted = ledger
        .charges()
        .filter(
          (charge) =>
            charge.atMs >= startTime * 1000 &&
            charge.atMs < endTime * 1000 &&
            (category === undefined || charge.category === category) &&
            (productName === undefined || charge.productName.toLowerCase().includes(productName.toLowerCase())),
        );
      return { body: { bills: billsOf(wanted, cycleType, billingUtcOffsetHours, fractionalAmounts ? 0.25 : 0) } };
    },
  });

  routes.add({
    method: "GET",
    path: "/openapi/v1/user/team/key-budget-list",
    operation: "listKeyBudgets",
    handle: ({ query }) => {
      const { member_id } = checked(budgetsQuery, query, config().unknownFields);
      service.accrueAll();
      return { body: { key_budgets: budgetsOf(service, member_id).map(({ exhausted: _, ...record }) => record) } };
    },
  });
}
