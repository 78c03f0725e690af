import * as z from "zod";
import type { Random } from "./random.ts";

const target = {
  /** An operation's name, or "*" for all of them. */
  operation: z.string().default("*"),
  /** How many calls the fault hits; default 1, unlimited with `probability`. */
  times: z.int().min(1).optional(),
  /** The probability that the fault hits a call. */
  probability: z.number().min(0).max(1).optional(),
  /** The fault hits only calls whose query or body contains this text. */
  match: z.string().min(1).optional(),
  /** How many calls pass before the first hit. */
  skip: z.int().min(0).default(0),
};

/** A fault at the HTTP boundary. `after`: the call takes effect, and the fault replaces or delays only its response. */
export const faultRule = z.discriminatedUnion("kind", [
  z.strictObject({
    ...target,
    kind: z.literal("status"),
    status: z.int().min(200).max(599),
    body: z.unknown().optional(),
    headers: z.record(z.string(), z.string()).default({}),
    after: z.boolean().default(false),
  }),
  z.strictObject({
    ...target,
    kind: z.literal("latency"),
    latencyMs: z.number().min(0),
    after: z.boolean().default(false),
  }),
  z.strictObject({ ...target, kind: z.literal("resetBefore") }),
  z.strictObject({ ...target, kind: z.literal("resetAfter") }),
  z.strictObject({ ...target, kind: z.literal("truncate") }),
  z.strictObject({ ...target, kind: z.literal("rateLimit"), retryAfter: z.union([z.number(), z.string()]).optional() }),
  z.strictObject({
    ...target,
    kind: z.literal("gatewayPage"),
    status: z.union([z.literal(502), z.literal(503), z.literal(504)]).default(502),
    after: z.boolean().default(false),
  }),
]);
export type Fault = z.output<typeof faultRule>;
export type FaultInput = z.input<typeof faultRule>;

export type Faults = {
  add(fault: Fault): number;
  list(): ({ id: number; hits: number } & Fault)[];
  clear(): void;
  /** Returns the fault that hits a call: the first one added that applies. `content` is the query and body as text. */
  strike(operation: string, content: string): Fault | undefined;
};

export function createFaults(random: Random): Faults {
  let rules: { id: number; fault: Fault; seen: number; hits: number }[] = [];
  let nextID = 1;
  return {
    add: (fault) => {
      const id = nextID++;
      rules.push({ id, fault, seen: 0, hits: 0 });
      return id;
    },
    list: () => rules.map(({ id, fault, hits }) => ({ id, hits, ...fault })),
    clear: () => {
      rules = [];
    },
    strike: (operation, content) => {
      for (const rule of rules) {
        const { fault } = rule;
        if (fault.operation !== "*" && fault.operation !== operation) continue;
        if (fault.match !== undefined && !content.includes(fault.match)) continue;
        const times = fault.times ?? (fault.probability === undefined ? 1 : Number.POSITIVE_INFINITY);
        if (rule.hits >= times) continue;
        rule.seen += 1;
        if (rule.seen <= fault.skip) continue;
        if (fault.probability !== undefined && random.next() >= fault.probability) continue;
        rule.hits += 1;
        return fault;
      }
      return undefined;
    },
  };
}
