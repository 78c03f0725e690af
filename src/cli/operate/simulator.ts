import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parse } from "yaml";
import { IN_OUR_WORDS } from "../../api/schema/wording.ts";
import { type Assumptions, assumptions } from "../../simulator/assumptions.ts";
import { examplesHelp } from "../exit-codes.ts";

type SimulatorFlags = {
  port: number;
  host: string;
  apiKey?: string;
  seed: number;
  timeScale?: number;
  config?: string;
};

/** `mooring simulator`: the remote service as an HTTP server, for trials and tests. */
export function registerSimulatorCommand(program: Command): void {
  program
    .command("simulator")
    .description("run a simulator of the service")
    .addOption(
      new Option("--port <port>", "port to listen on, 0 for any free one")
        .env("MOORING_PORT")
        .default(8090)
        .argParser(integer(0, 65_535)),
    )
    .addOption(new Option("--host <address>", "address to listen on").env("MOORING_HOST").default("127.0.0.1"))
    .addOption(
      new Option("--api-key <key>", "comma-separated valid API keys (default: simulator-key)").env("MOORING_API_KEY"),
    )
    .addOption(
      new Option("--seed <number>", "seed of identifiers, durations and faults")
        .env("MOORING_SEED")
        .default(1)
        .argParser(integer(0, 0xffff_ffff)),
    )
    .addOption(
      new Option(
        "--time-scale <factor>",
        "factor for every duration of the service: 0.1 is ten times as fast (default: 1)",
      )
        .env("MOORING_TIME_SCALE")
        .argParser(factor),
    )
    .addOption(
      new Option(
        "--config <file>",
        "YAML file with the behaviors that the interface leaves open (names as in GET /__config)",
      ).env("MOORING_CONFIG"),
    )
    .addHelpText(
      "after",
      examplesHelp("simulator", [
        "mooring simulator --port 8090 --time-scale 0.1",
        "mooring simulator --seed 7 --config assumptions.yaml",
      ]),
    )
    .action(async (flags: SimulatorFlags, command: Command) => {
      try {
        await run(flags);
      } catch (error) {
        // A wrong file or a taken port is the user's to mend: one line, no stack.
        command.error(`error: the simulator cannot start: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
}

async function run(flags: SimulatorFlags): Promise<void> {
  const config = flags.config === undefined ? {} : await readConfig(flags.config);
  const keys = flags.apiKey
    ?.split(",")
    .map((key) => key.trim())
    .filter((key) => key !== "");
  // On demand: the operator runs without the HTTP server that the simulator brings.
  const { createSimulator } = await import("../../simulator/server.ts");
  const simulator = await createSimulator({
    port: flags.port,
    host: flags.host,
    seed: flags.seed,
    config: {
      ...config,
      ...(keys === undefined || keys.length === 0 ? {} : { apiKeys: keys }),
      ...(flags.timeScale === undefined ? {} : { timeScale: flags.timeScale }),
    },
  });
  console.log(`simulator listening on ${simulator.url}`);
  const stop = () => {
    simulator.close().catch((error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    });
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

async function readConfig(file: string): Promise<Assumptions> {
  const content: unknown = parse(await readFile(file, "utf8"));
  const parsed = assumptions.safeParse(content ?? {}, IN_OUR_WORDS);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`.trim());
  throw new Error(`--config ${file}: ${problems.join("; ")}`);
}

function integer(min: number, max: number) {
  return (value: string) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max)
      throw new InvalidArgumentError(`must be an integer, ${min} to ${max}`);
    return number;
  };
}

function factor(value: string): number {
  const number = Number(value);
  if (value.trim() === "" || !Number.isFinite(number) || number < 0)
    throw new InvalidArgumentError("must be a number, 0 or greater");
  return number;
}
