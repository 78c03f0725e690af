import * as z from "zod";
import { parseDuration } from "../api/schema/duration.ts";
import { WITHOUT_VALUES } from "../api/schema/wording.ts";
import { LONGEST_REQUEST } from "../api/v1alpha1/account.ts";
import { parseNetworks } from "../base/address-guard.ts";
import { LOG_LEVELS } from "../base/log.ts";
import { parseBindAddress } from "../runtime/http.ts";

const boolean = z.union([
  z.boolean(),
  z.enum(["true", "false", "1", "0", ""]).transform((text) => text === "true" || text === "1"),
]);
const bindAddress = z.string().superRefine((text, context) => {
  try {
    parseBindAddress(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error), input: text });
  }
});
/** A Go duration, in ms. */
const duration = z.string().transform((text, context) => {
  try {
    return parseDuration(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error), input: text });
    return z.NEVER;
  }
});
const list = z.union([
  z.array(z.string()),
  z.string().transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  ),
]);

/** The URL is in logs and in the process list, so it has no credentials. */
const collector = z.string().superRefine((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (isPlain && (url.protocol === "https:" || url.protocol === "http:")) return;
  const message =
    "must be the base URL of an OpenTelemetry collector, such as https://collector.example.com:4318, without credentials, query and fragment; credentials belong into OTEL_EXPORTER_OTLP_HEADERS";
  context.addIssue({ code: "custom", message, input: text });
});

/**
 * Where clouds tell a machine its credentials. No service is there, and no account needs them.
 * Link local: AWS, Azure, Google Cloud, Oracle, DigitalOcean and OpenStack. Others: Alibaba Cloud, Azure's platform, EKS and EC2 (IPv6), Oracle.
 */
const METADATA_NETWORKS: string[] = [
  "169.254.0.0/16",
  "100.100.100.200/32",
  "168.63.129.16/32",
  "192.0.0.192/32",
  "fd00:ec2::/32",
];

/**
 * Enough to keep an API server busy. With more, each reconcile takes longer instead, and what it holds meanwhile grows old in memory
 * (docs/reference/performance.md).
 */
export const OBJECTS_AT_ONCE = 32;

/** The operator's settings. Each is a flag `--kebab-case` and an environment variable `MOORING_<FLAG>`; the flag wins. */
export const operatorConfigSchema = z.strictObject({
  kubeconfig: z.string().min(1).optional(),
  metricsBindAddress: bindAddress.default(":8080"),
  metricsAuth: z.enum(["none", "token-review"]).default("none"),
  profiling: boolean.default(false),
  healthProbeBindAddress: bindAddress.default(":8081"),
  operatorNamespace: z.string().min(1).max(63).optional(),
  watchNamespaces: list.default([]),
  maxConcurrentReconciles: z.coerce.number().int().min(1).max(1000).default(OBJECTS_AT_ONCE),
  stopDeadline: duration.prefault(LONGEST_REQUEST),
  logLevel: z.enum(LOG_LEVELS).default("info"),
  logFormat: z.enum(["json", "pretty"]).default("json"),
  allowPrivateNetworks: boolean.default(false),
  allowAmbientCredentials: boolean.default(false),
  deniedNetworks: list
    .superRefine((networks, context) => {
      try {
        parseNetworks(networks);
      } catch (error) {
        context.addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
      }
    })
    .default(METADATA_NETWORKS),
  artifactRoot: z.string().regex(/^\//, "must be an absolute path").optional(),
  otlpEndpoint: collector.optional(),
});
export type OperatorConfig = Readonly<z.output<typeof operatorConfigSchema>>;

export const flagOf = (setting: string): string =>
  `--${setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
export const variableOf = (setting: string): string =>
  `MOORING_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/**
 * Settings from flags and environment, checked together.
 * @throws Error with one line for each setting that is wrong
 */
export function parseOperatorConfig(
  flags: Record<string, unknown>,
  env: Record<string, string | undefined>,
): OperatorConfig {
  const given: Record<string, unknown> = {};
  for (const setting of Object.keys(operatorConfigSchema.shape)) {
    const value = flags[setting] ?? env[variableOf(setting)];
    if (value !== undefined) given[setting] = value;
  }
  const parsed = operatorConfigSchema.safeParse(given, WITHOUT_VALUES);
  if (parsed.success) return Object.freeze(guarded(parsed.data));
  const lines = parsed.error.issues.map((issue) => {
    const setting = String(issue.path[0] ?? "");
    const value = withoutCredentials(JSON.stringify(given[setting]));
    return `${flagOf(setting)} (or ${variableOf(setting)}): ${value}: ${issue.message}`;
  });
  throw new Error(lines.join("\n"));
}

/** An error shows a wrong value, but no user and password of a URL. */
function withoutCredentials(value: string): string {
  return value.replace(/\/\/[^/]*@/g, "//…@");
}

/** What settings require of each other. Profiles have secrets, so strangers must not read them. */
function guarded<T extends z.output<typeof operatorConfigSchema>>(config: T): T {
  const { profiling, metricsBindAddress } = config;
  if (!profiling || isMetricsGuarded(config)) return config;
  throw new Error(
    `--profiling (or MOORING_PROFILING): needs --metrics-auth token-review, or a --metrics-bind-address on ${LOOPBACK.join(", ")}; it is "${metricsBindAddress}"`,
  );
}

/** Whether only readers that the API server allows, or those of this machine, reach the metrics. */
export function isMetricsGuarded({
  metricsAuth,
  metricsBindAddress,
}: Pick<z.output<typeof operatorConfigSchema>, "metricsAuth" | "metricsBindAddress">): boolean {
  const { host = "" } = parseBindAddress(metricsBindAddress) ?? {};
  return metricsAuth !== "none" || LOOPBACK.includes(host);
}

const LOOPBACK = ["127.0.0.1", "::1", "localhost"];
