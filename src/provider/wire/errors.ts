import { isRecord } from "../../base/own-value.ts";
import { toNumber, toText } from "./lenient.ts";

/**
 * The body of a refusal. The interface does not show it; elsewhere the service is known to answer
 * `{code, reason, message, metadata}`. `code` is the HTTP status again or a code of the service's own, as text.
 */
export type ServiceErrorBody = {
  code: string;
  reason: string;
  message: string;
  /** Whether it was the value of a field `error`. */
  wrapped: boolean;
};

/** Reads an error body, also when it is wrapped in `error`; undefined when it is not a JSON object. */
export function errorBodyOf(value: unknown): ServiceErrorBody | undefined {
  if (!isRecord(value)) return undefined;
  const body = isRecord(value["error"]) ? value["error"] : value;
  return {
    code: toText(body["code"]),
    reason: toText(body["reason"]),
    message: toText(body["message"]) || toText(value["error"]) || toText(body["msg"]),
    wrapped: isRecord(value["error"]) || toText(value["error"]) !== "",
  };
}

/** Codes and reasons by which a service reports success in the fields of an error. */
const SUCCESS = /^(0+|2\d\d|ok|success|succeed|succeeded)?$/i;

/** Whether the body of a 2xx reports an error: by its reason, by its code with a message, or by text in `error`. */
export function reportedErrorOf(value: unknown): ServiceErrorBody | undefined {
  const body = errorBodyOf(value);
  if (body === undefined) return undefined;
  const { code, reason, message, wrapped } = body;
  const reported = wrapped || !SUCCESS.test(reason.trim()) || (!SUCCESS.test(code.trim()) && message !== "");
  return reported ? body : undefined;
}

/**
 * Whether a 5xx body is the service's own: only what carries its `reason`, or its `code` together with a `message`.
 * Gateways also answer JSON (`{"message": "Endpoint request timed out"}`) and say nothing about the effect.
 */
export function isServicesOwn(body: ServiceErrorBody): boolean {
  return body.reason !== "" || (body.code !== "" && body.message !== "" && toNumber(body.message) === undefined);
}
