import type { z } from "zod";
import { cleanWords, ServiceError } from "../errors.ts";
import type { Operation } from "../operations.ts";
import { readErrorBody, readReportedError } from "../wire/errors.ts";
import { words } from "./classify.ts";

/** A 2xx response whose body is read as it arrives. */
export type Answer = {
  operation: Operation;
  status: number;
  chunks: AsyncIterable<Uint8Array>;
  /** Keeps out of messages what nobody may see. */
  apiKey: string;
  /** Reserves memory for up to `bytes` of the body, and waits until they are free. */
  reserve(bytes: number): Promise<{ release(): void }>;
  /** Parses a body. @throws ServiceError `UnreadableResponse` */
  parse<A extends z.ZodType>(text: string, schema: A): z.output<A>;
  /** `why` follows "the answer 200". */
  unreadable(why: string): ServiceError;
};

/** What a body is parsed by. `isEmpty`: the value carries nothing that was asked for. */
export type AnswerRules = { answer?: z.ZodType | undefined; isEmpty?(value: unknown): boolean };

/**
 * Reads the body of a 2xx. Without a schema any body will do that does not report an error. With one, an answer that carries
 * what was asked for is a success whatever else it says: a task that runs must not be lost.
 */
export function readerOf(
  operation: Operation,
  status: number,
  { apiKey, hidden }: { apiKey: string; hidden: readonly string[] | undefined },
) {
  // No cause: a parser's error quotes its input, and the response may quote the key.
  const unreadable = (why: string, text = "") =>
    new ServiceError({
      operation,
      kind: "UnreadableResponse",
      delivery: "Unknown",
      status,
      reason: cleanWords(readErrorBody(text)?.message ?? "", apiKey, hidden),
      message: `the answer ${status} ${cleanWords(why, apiKey, hidden)}`,
    });
  const reported = (text: string) => {
    const body = readReportedError(text);
    return body === undefined ? undefined : `reports an error: ${words(body) || body.code}`;
  };

  function read(text: string, { answer: schema, isEmpty }: AnswerRules): unknown {
    if (schema === undefined) {
      const error = reported(text);
      if (error !== undefined) throw unreadable(error, text);
      return undefined;
    }
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw unreadable(`cannot be read: ${notJSON(text)}`, text);
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) {
      const error = isEmpty?.(parsed.data) === true ? reported(text) : undefined;
      if (error !== undefined) throw unreadable(error, text);
      return parsed.data;
    }
    const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`.trim()).join("; ");
    throw unreadable(reported(text) ?? `cannot be read: ${problems}`, text);
  }

  return { read, unreadable };
}

/** A page of something between us and the service is quoted; a torn answer of the service may hold anybody's secrets. */
function notJSON(text: string): string {
  if (text === "") return "it is empty";
  if (/^\s*[{["]/.test(text)) return `it is not complete JSON (${text.length} characters)`;
  return `it is not JSON: ${text.slice(0, 4_096)}`;
}
