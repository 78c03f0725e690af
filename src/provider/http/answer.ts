import type * as z from "zod";
import type { Clock } from "../../base/clock.ts";
import type { Sanitizer } from "../../base/sanitizer.ts";
import { cleanWords, type Delivery, ServiceError } from "../errors.ts";
import type { Operation } from "../operations.ts";
import { errorBodyOf, reportedErrorOf } from "../wire/errors.ts";
import { isTooComplex, jsonIn, parseJSON } from "../wire/json.ts";
import { notJSON, type PageRecords, readPage, UnreadablePageError } from "../wire/pages.ts";
import { words } from "./classify.ts";

/** Most values of one object: parsing it takes one turn of the event loop. */
const MOST_VALUES = 50_000;

/** A 2xx response whose body is read as it arrives. */
export type Answer = {
  operation: Operation;
  status: number;
  chunks: AsyncIterable<Uint8Array>;
  /** For texts of the service. */
  sanitize: Sanitizer;
  /** Waits until memory for `bytes` of the body is free. What it returns gives it back. */
  reserve(bytes: number): Promise<() => void>;
  /** Parses a body. @throws ServiceError `UnreadableResponse` */
  parse<A extends z.ZodType>(text: string, schema: A): z.output<A>;
  /** `why` follows "the answer 200". */
  unreadable(why: string): ServiceError;
};

/**
 * What a body is parsed by. `isEmpty`: the value carries nothing that was asked for. `page`: its records are read in turns of
 * the event loop, and `answer` reads the rest.
 */
export type AnswerRules = {
  answer?: z.ZodType | undefined;
  isEmpty?(value: unknown): boolean;
  page?: PageRecords | undefined;
};

/** `value`: what the response shows, for its own words. */
type FailureDetails = { value?: unknown; tooLarge?: boolean };

/**
 * Reads the body of a 2xx. Without a schema any body will do that does not report an error. With one, an answer that carries
 * what was asked for is a success whatever else it says: a task that runs must not be lost.
 */
export function readerOf(operation: Operation, status: number, sanitize: Sanitizer, clock: Clock) {
  // No cause: a parser's error quotes its input, and the response may quote the key.
  const failure = (delivery: Delivery, why: string, { value, tooLarge = false }: FailureDetails) =>
    new ServiceError({
      operation,
      kind: "UnreadableResponse",
      delivery,
      status,
      reason: cleanWords(errorBodyOf(value)?.message ?? "", sanitize),
      message: `the answer ${status} ${cleanWords(why, sanitize)}`,
      tooLarge,
    });
  const unreadable = (why: string, details: FailureDetails = {}) => failure("Accepted", why, details);
  /** Whether a create took effect is found by its app name. */
  const reported = (value: unknown) => {
    const body = reportedErrorOf(value);
    if (body === undefined) return undefined;
    const delivery = operation === "createEndpoint" ? "Unknown" : "Accepted";
    return failure(delivery, `reports an error: ${words(body) || body.code}`, { value });
  };

  function parsed(text: string): unknown {
    try {
      return parseJSON(text);
    } catch {
      throw unreadable(`cannot be read: ${notJSON(text)}`);
    }
  }

  function check(value: unknown, { answer, isEmpty }: AnswerRules): unknown {
    if (answer === undefined) return value;
    const checked = answer.safeParse(value);
    if (!checked.success) {
      const problems = checked.error.issues
        .map(({ path, message }) => `${path.join(".")} ${message}`.trim())
        .join("; ");
      throw reported(value) ?? unreadable(`cannot be read: ${problems}`, { value });
    }
    const error = isEmpty?.(checked.data) === true ? reported(value) : undefined;
    if (error !== undefined) throw error;
    return checked.data;
  }

  async function readRecords(body: Buffer, page: PageRecords): Promise<unknown> {
    try {
      return await readPage(body, page, clock);
    } catch (error) {
      if (!(error instanceof UnreadablePageError)) throw error;
      throw unreadable(`cannot be read: ${error.message}`, { tooLarge: error.tooLarge });
    }
  }

  return {
    unreadable,
    parse: (text: string, answer: z.ZodType) => check(parsed(text), { answer }),
    async read(body: Buffer, rules: AnswerRules): Promise<unknown> {
      if (rules.page !== undefined) return check(await readRecords(body, rules.page), rules);
      if (isTooComplex(body, MOST_VALUES)) throw unreadable(`cannot be read: it has more than ${MOST_VALUES} values`);
      const text = body.toString("utf8");
      if (rules.answer !== undefined) return check(parsed(text), rules);
      const error = reported(jsonIn(text));
      if (error !== undefined) throw error;
      return undefined;
    },
  };
}
