import { type Logger, pino } from "pino";
import { PinoPretty as pretty } from "pino-pretty";
import type { OperatorConfig } from "./operator/config.ts";

/** Where a value under such a name never belongs into a log, however it got there. */
const SECRET_PATHS = ["apiKey", "authorization", "Authorization", "token", "password", "headers", "body"];

/** The root logger: JSON lines on standard output, or lines for people. Secrets are cut out by name. */
export function createLogger(config: Pick<OperatorConfig, "logLevel" | "logFormat">): Logger {
  const options = {
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_PATHS.flatMap((path) => [path, `*.${path}`]), censor: "[redacted]" },
  };
  if (config.logFormat === "json") return pino(options);
  return pino(options, pretty({ translateTime: "SYS:HH:MM:ss", ignore: "reconcileID", singleLine: true, sync: true }));
}
