import type { Clock } from "../../base/clock.ts";
import type { Sanitizer } from "../../base/sanitizer.ts";
import { cleanWords, type Delivery, ServiceError } from "../errors.ts";
import type { Operation } from "../operations.ts";
import { errorBodyOf, reportedErrorOf } from "../wire/errors.ts";
import { isTooComplex, jsonIn, parseJSON } from "../wire/json.ts";
import { UnusableError } from "../wire/lenient.ts";
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
  parse<A>(text: string, answer: (value: unknown) => A): A;
  /** `why` follows "the answer 200". */
  unreadable(why: string): ServiceError;
};

/** How a body is read. */
export type AnswerRules<A, R> = {
  /** The list of a page. Its records are read in turns of the event loop. */
  page?: PageRecords<R>;
  /** Reads the whole body, or what a page has besides its list. Default: any body is accepted. @throws UnusableError */
  answer?(value: unknown, records: R[]): A;
  /** Whether the response has nothing that was requested. Such a response is no success when it reports an error. */
  isEmpty?(answer: NoInfer<A>): boolean;
};

/** `value`: what the response shows, for its own words. */
type FailureDetails = { value?: unknown; tooLarge?: boolean };

/**
 * Reads the body of a 2xx. Without a schema, any body without an error is accepted. With one, a response with
 * the requested value is a success, whatever else it says: a task that runs must not be lost.
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
  /** The app name shows whether a create took effect. */
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

  /** `read` reads the answer in `value`. */
  function answerIn<A>(value: unknown, read: () => A): A {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof UnusableError)) throw error;
      throw reported(value) ?? unreadable(`cannot be read: ${error.message}`, { value });
    }
  }

  function check<A, R>(value: unknown, { answer, isEmpty }: AnswerRules<A, R>, records: R[]): A | undefined {
    const read = answer && answerIn(value, () => answer(value, records));
    const isUseless = answer === undefined || (read !== undefined && isEmpty?.(read) === true);
    const error = isUseless ? reported(value) : undefined;
    if (error !== undefined) throw error;
    return read;
  }

  async function readRecords<R>(body: Buffer, page: PageRecords<R>): Promise<{ records: R[]; rest: unknown }> {
    try {
      const { records, rest } = await readPage(body, page, clock);
      if (records !== undefined) return { records, rest };
      throw reported(rest) ?? unreadable(`cannot be read: ${page.list} must be a list`, { value: rest });
    } catch (error) {
      if (!(error instanceof UnreadablePageError)) throw error;
      throw unreadable(`cannot be read: ${error.message}`, { tooLarge: error.tooLarge });
    }
  }

  return {
    unreadable,
    parse<A>(text: string, answer: (value: unknown) => A): A {
      const value = parsed(text);
      return answerIn(value, () => answer(value));
    },
    async read<A, R>(body: Buffer, rules: AnswerRules<A, R>): Promise<A | undefined> {
      if (rules.page !== undefined) {
        const { records, rest } = await readRecords(body, rules.page);
        return check(rest, rules, records);
      }
      if (isTooComplex(body, MOST_VALUES)) throw unreadable(`cannot be read: it has more than ${MOST_VALUES} values`);
      const text = body.toString("utf8");
      return check(rules.answer === undefined ? jsonIn(text) : parsed(text), rules, []);
    },
  };
}
