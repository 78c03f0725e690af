import type * as z from "zod";
import type { Clock } from "../../base/clock.ts";
import type { Sanitizer } from "../../base/sanitizer.ts";
import { cleanWords, type Delivery, ServiceError } from "../errors.ts";
import type { Operation } from "../operations.ts";
import { readErrorBody, readReportedError } from "../wire/errors.ts";
import { parseJSON } from "../wire/json.ts";
import { countValues } from "../wire/page-scanner.ts";
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

/**
 * Reads the body of a 2xx. Without a schema any body will do that does not report an error. With one, an answer that carries
 * what was asked for is a success whatever else it says: a task that runs must not be lost.
 */
export function readerOf(operation: Operation, status: number, sanitize: Sanitizer, clock: Clock) {
  // No cause: a parser's error quotes its input, and the response may quote the key.
  const failure = (delivery: Delivery, why: string, { text = "", tooLarge = false } = {}) =>
    new ServiceError({
      operation,
      kind: "UnreadableResponse",
      delivery,
      status,
      reason: cleanWords(readErrorBody(text)?.message ?? "", sanitize),
      message: `the answer ${status} ${cleanWords(why, sanitize)}`,
      tooLarge,
    });
  const unreadable = (why: string, text = "", tooLarge = false) => failure("Accepted", why, { text, tooLarge });
  /** Whether a create took effect is found by its app name. */
  const reported = (text: string) => {
    const body = readReportedError(text);
    if (body === undefined) return undefined;
    const delivery = operation === "createEndpoint" ? "Unknown" : "Accepted";
    return failure(delivery, `reports an error: ${words(body) || body.code}`, { text });
  };

  function parsed(text: string): unknown {
    try {
      return parseJSON(text);
    } catch {
      throw unreadable(`cannot be read: ${notJSON(text)}`, text);
    }
  }

  function check(value: unknown, { answer, isEmpty }: AnswerRules, text: string): unknown {
    if (answer === undefined) return value;
    const parsed = answer.safeParse(value);
    if (parsed.success) {
      const error = isEmpty?.(parsed.data) === true ? reported(text) : undefined;
      if (error !== undefined) throw error;
      return parsed.data;
    }
    const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`.trim()).join("; ");
    throw reported(text) ?? unreadable(`cannot be read: ${problems}`, text);
  }

  return {
    unreadable,
    parse: (text: string, answer: z.ZodType) => check(parsed(text), { answer }, text),
    async read(body: Buffer, rules: AnswerRules): Promise<unknown> {
      const { answer, page } = rules;
      if (answer !== undefined && page !== undefined) {
        try {
          const read = await readPage(body, page, clock);
          return check(read.page, rules, read.rest);
        } catch (error) {
          if (!(error instanceof UnreadablePageError)) throw error;
          const { message, text, tooLarge } = error;
          throw reported(text) ?? unreadable(`cannot be read: ${message}`, text, tooLarge);
        }
      }
      if (body.length > MOST_VALUES && countValues(body) > MOST_VALUES) {
        throw unreadable(`cannot be read: it has more than ${MOST_VALUES} values`);
      }
      const text = body.toString("utf8");
      if (answer !== undefined) return check(parsed(text), rules, text);
      const error = reported(text);
      if (error !== undefined) throw error;
      return undefined;
    },
  };
}
