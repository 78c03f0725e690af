import { describe, expect, it } from "vitest";
import { accountSpecSchema, LONGEST_REQUEST } from "../../../src/api/v1alpha1/account.ts";
import { sessionSettings } from "../../../src/controllers/account/session-settings.ts";
import { flagOf, operatorConfigSchema, parseOperatorConfig, variableOf } from "../../../src/operator/config.ts";

describe("settings", () => {
  it("have the documented defaults", () => {
    expect(parseOperatorConfig({}, {})).toEqual({
      metricsBindAddress: ":8080",
      metricsAuth: "none",
      profiling: false,
      healthProbeBindAddress: ":8081",
      watchNamespaces: [],
      maxConcurrentReconciles: 32,
      stopDeadline: 30 * 60_000,
      logLevel: "info",
      logFormat: "json",
      allowPrivateNetworks: false,
      allowAmbientCredentials: false,
      deniedNetworks: ["169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32"],
    });
  });

  it.each([
    ["metricsBindAddress", "--metrics-bind-address", "MOORING_METRICS_BIND_ADDRESS"],
    ["operatorNamespace", "--operator-namespace", "MOORING_OPERATOR_NAMESPACE"],
    ["kubeconfig", "--kubeconfig", "MOORING_KUBECONFIG"],
  ])("%s is the flag %s and the variable %s", (setting, flag, variable) => {
    expect([flagOf(setting), variableOf(setting)]).toEqual([flag, variable]);
    expect(Object.keys(operatorConfigSchema.shape)).toContain(setting);
  });

  it("come from the environment, and a flag wins", () => {
    const env = { MOORING_LOG_LEVEL: "debug", MOORING_MAX_CONCURRENT_RECONCILES: "8", MOORING_UNKNOWN: "x" };
    expect(parseOperatorConfig({ logLevel: "warn" }, env)).toMatchObject({
      logLevel: "warn",
      maxConcurrentReconciles: 8,
    });
  });

  it("wait at a stop for the longest request that an account may configure", () => {
    const spec = accountSpecSchema.parse({
      baseURL: "https://api.example.com",
      apiKeySecretRef: { name: "key", key: "apiKey" },
      requestTimeout: LONGEST_REQUEST,
    });
    expect(parseOperatorConfig({}, {}).stopDeadline).toBe(
      sessionSettings(spec, () => "key", undefined).connection.requestTimeoutMs,
    );
    expect(parseOperatorConfig({ stopDeadline: "1m30s" }, {}).stopDeadline).toBe(90_000);
    expect(() => parseOperatorConfig({ stopDeadline: "90" }, {})).toThrow(/--stop-deadline .*expected a Go duration/);
  });

  it("are not changed later", () => {
    expect(Object.isFrozen(parseOperatorConfig({}, {}))).toBe(true);
  });

  it.each([
    ["true", true],
    ["1", true],
    ["false", false],
    ["0", false],
    ["", false],
  ])("of yes or no take %j for %s", (text, expected) => {
    expect(parseOperatorConfig({}, { MOORING_ALLOW_PRIVATE_NETWORKS: text }).allowPrivateNetworks).toBe(expected);
  });

  it.each([
    ["a, b,,c ", ["a", "b", "c"]],
    ["", []],
  ])("of several take %j for %j", (text, expected) => {
    expect(parseOperatorConfig({}, { MOORING_WATCH_NAMESPACES: text }).watchNamespaces).toEqual(expected);
    expect(parseOperatorConfig({ watchNamespaces: ["x", "y"] }, {}).watchNamespaces).toEqual(["x", "y"]);
  });

  it("that are wrong are told all at once, by flag and variable, with the value", () => {
    const env = {
      MOORING_LOG_LEVEL: "loud",
      MOORING_METRICS_BIND_ADDRESS: "8080",
      MOORING_ALLOW_AMBIENT_CREDENTIALS: "yes",
    };
    let message = "";
    try {
      parseOperatorConfig({ maxConcurrentReconciles: 0 }, env);
    } catch (error) {
      message = String(error);
    }
    const lines = message.split("\n");
    expect(lines).toHaveLength(4);
    expect(message).toContain('--log-level (or MOORING_LOG_LEVEL): "loud": ');
    expect(message).toContain(
      '--metrics-bind-address (or MOORING_METRICS_BIND_ADDRESS): "8080": bind address "8080": expected [HOST]:PORT',
    );
    expect(message).toContain('--allow-ambient-credentials (or MOORING_ALLOW_AMBIENT_CREDENTIALS): "yes": ');
    expect(message).toContain("--max-concurrent-reconciles (or MOORING_MAX_CONCURRENT_RECONCILES): 0: ");
  });
});

describe("--profiling", () => {
  it.each([
    { metricsAuth: "token-review", metricsBindAddress: ":8080" },
    { metricsAuth: "none", metricsBindAddress: "127.0.0.1:8080" },
    { metricsAuth: "none", metricsBindAddress: "[::1]:8080" },
  ])("is allowed with metrics auth $metricsAuth at $metricsBindAddress", (flags) => {
    expect(parseOperatorConfig({ ...flags, profiling: true }, {}).profiling).toBe(true);
  });

  it.each([":8080", "0.0.0.0:8080", "0"])("is refused without authentication at %s", (metricsBindAddress) => {
    expect(() => parseOperatorConfig({ metricsBindAddress, profiling: "true" }, {})).toThrow(
      "--profiling (or MOORING_PROFILING): needs --metrics-auth token-review, or a --metrics-bind-address on 127.0.0.1",
    );
  });
});

describe("--otlp-endpoint", () => {
  it.each(["https://collector.example.com:4318", "http://10.0.0.7:4318/otlp/", "http://collector"])(
    "may be %s",
    (url) => {
      expect(parseOperatorConfig({ otlpEndpoint: url }, {}).otlpEndpoint).toBe(url);
    },
  );

  it.each(["", "collector:4318", "grpc://collector:4317", "https://collector?token=t", "https://collector/#t"])(
    "is refused as %j",
    (url) => {
      expect(() => parseOperatorConfig({}, { MOORING_OTLP_ENDPOINT: url })).toThrow(
        "--otlp-endpoint (or MOORING_OTLP_ENDPOINT): ",
      );
    },
  );

  it("with credentials is refused without showing them", () => {
    const config = () => parseOperatorConfig({ otlpEndpoint: "https://user:s3cret@collector:4318" }, {});
    expect(config).toThrow('"https://…@collector:4318": must be the base URL of an OpenTelemetry collector');
    expect(config).not.toThrow("s3cret");
  });
});
