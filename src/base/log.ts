import { type Logger, type LoggerOptions, pino } from "pino";
import { PinoPretty as pretty } from "pino-pretty";

/** The levels of pino, the most detailed first. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal"] as const;
type LogLevelName = (typeof LOG_LEVELS)[number];

/** Keys whose values are never logged. */
const SECRET_PATHS = ["apiKey", "authorization", "Authorization", "token", "password", "headers", "body"];

/** The level of a logger and of all its children, which can change while they are in use. */
export type LogLevel = {
  get(): string;
  /** Returns false, and changes nothing, unless `name` is one of `allowed`. */
  set(name: string): boolean;
  readonly allowed: readonly string[];
};

export function createLogLevel(first: LogLevelName): LogLevel & { enabled(level: number): boolean } {
  const { values } = pino.levels;
  let current: string = first;
  let least = values[first] ?? 0;
  return {
    get: () => current,
    set(name) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined;
      if (value === undefined) return false;
      current = name;
      least = value;
      return true;
    },
    allowed: Object.keys(values),
    enabled: (level) => level >= least,
  };
}

/**
 * The root logger: JSON lines on standard output, or lines for people. Secrets are cut out by name.
 * @param level what is logged, also by children; default: `config.logLevel`, which then never changes
 */
export function createLogger(
  config: { logLevel: LogLevelName; logFormat: "json" | "pretty" },
  level: Pick<ReturnType<typeof createLogLevel>, "enabled"> = createLogLevel(config.logLevel),
): Logger {
  const options: LoggerOptions = {
    // A child keeps the level that its parent had at its creation, so a hook filters by the current level.
    level: "trace",
    hooks: {
      logMethod(values, method, number) {
        if (level.enabled(number)) method.apply(this, values);
      },
    },
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_PATHS.flatMap((path) => [path, `*.${path}`]), censor: "[redacted]" },
  };
  if (config.logFormat === "json") return pino(options);
  return pino(options, pretty({ translateTime: "SYS:HH:MM:ss", ignore: "reconcileID", singleLine: true, sync: true }));
}
