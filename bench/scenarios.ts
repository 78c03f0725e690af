import type { Tool } from "../tools/programs/tool.ts";
import { measureBills } from "./bills.ts";
import { measureChurn } from "./churn.ts";
import type { BenchOptions } from "./cluster.ts";
import { measureColdStart } from "./cold-start.ts";
import type { NumberFlags } from "./flags.ts";
import { measureJobs } from "./jobs.ts";
import { measureLatency } from "./latency.ts";
import { measureRest } from "./rest.ts";
import type { Measurement, ScenarioName } from "./scenario-figures.ts";
import { measureStream } from "./stream.ts";
import { measureTakeover } from "./takeover.ts";

export type Scenario = {
  /** Programs that are built before. */
  tools: readonly Tool[];
  measure(options: BenchOptions, flags: NumberFlags): Promise<Measurement>;
};

/** With defaults that take less than about two minutes each on a machine that does nothing else; latency takes four, stream five and rest six. */
export const SCENARIOS: Readonly<Record<ScenarioName, Scenario>> = {
  churn: {
    tools: ["bench-remote"],
    measure: (options, { endpoints = 1_000, rounds = 3 }) => measureChurn({ ...options, endpoints, rounds }),
  },
  latency: {
    tools: ["bench-remote"],
    measure: (options, { endpoints = 10_000, changes = 200 }) => measureLatency({ ...options, endpoints, changes }),
  },
  rest: {
    tools: ["bench-remote"],
    measure: (options, { endpoints = 1_000, calm = 240, rest = 60 }) =>
      measureRest({ ...options, endpoints, calmSeconds: calm, restSeconds: rest }),
  },
  jobs: {
    tools: [],
    measure: (options, { jobs = 100, rate = 10, finish = 150, shortest = 20, longest = 60 }) =>
      measureJobs({ ...options, jobs, rate, finish, shortestSeconds: shortest, longestSeconds: longest }),
  },
  takeover: {
    tools: ["bench-remote"],
    measure: (options, { endpoints = 1_000, jobs = 100 }) => measureTakeover({ ...options, endpoints, jobs }),
  },
  stream: {
    tools: ["versitygw"],
    measure: (options, flags) => {
      const { "audio-minutes": audioMinutes = 60, "time-scale": timeScale = 0.075 } = flags;
      return measureStream({ ...options, audioMinutes, timeScale });
    },
  },
  bills: {
    tools: [],
    measure: (options, { records = 100_000 }) => measureBills({ ...options, records }),
  },
  cli: {
    tools: [],
    measure: (options, { starts = 15 }) => measureColdStart({ ...options, starts }),
  },
};
