import { type Drain, type DrainRound, type Engine, PEERS, type Peer } from "./figures.ts";
import { heading, number, row } from "./markdown.ts";
import { MEASURES, type Measure, ratiosOf, type Spread, spreadOf, titleOf } from "./plots.ts";

const FIRST_CALL_GOAL_SECONDS = 0.4;
/** Its ratio shows what Mooring adds to a controller of the same language. */
const SAME_LANGUAGE: Peer = "client-node";
const SAME_LANGUAGE_GOAL = 0.9;
/** Its ratio to controller-runtime is the limit of the language. */
const LEAST: Peer = "bare";
const FAILED = "failed";

const spreadText = ({ median, low, high }: Spread) => `${number(median)} (${number(low)} to ${number(high)})`;
const firstCalls = (rounds: readonly DrainRound[]) => spreadOf(rounds.map((one) => one.firstCallSeconds));
const duplicates = (rounds: readonly DrainRound[]) => rounds.reduce((sum, one) => sum + one.duplicates, 0);
const atMost = (goal: number, value: number, unit = "") =>
  `at most ${goal}${unit}: ${value <= goal ? "met" : "not met"}`;

/** A ratio that a drain shows of each measure. */
type Ratio = {
  head: string;
  of: (measure: Measure, engine?: Engine) => Spread;
  goal: (measure: Measure) => number | undefined;
};

function shownRatios(drain: Drain): Ratio[] {
  const ratio: Ratio = {
    head: "ratio",
    of: ({ of }, engine) => ratiosOf(drain, of, "controller-runtime", engine),
    goal: ({ goals }) => goals[drain.objects],
  };
  const toSameLanguage: Ratio = {
    head: `ratio to ${SAME_LANGUAGE}`,
    of: ({ of }, engine) => ratiosOf(drain, of, SAME_LANGUAGE, engine),
    goal: () => SAME_LANGUAGE_GOAL,
  };
  const least: Ratio = {
    head: `ratio of ${LEAST}`,
    of: ({ of }) => ratiosOf(drain, of, "controller-runtime", LEAST),
    goal: () => undefined,
  };
  const { rounds } = drain;
  return [
    ratio,
    ...(rounds[SAME_LANGUAGE] === undefined ? [] : [toSameLanguage]),
    ...(rounds[LEAST] === undefined ? [] : [least]),
  ];
}

/** The table of a drain: a column for each peer that was measured, then Mooring with its ratios. */
export function drainText(drain: Drain): string[] {
  const { access, rounds, failures = {} } = drain;
  const ours = rounds.Mooring;
  const peers = PEERS.filter((peer) => rounds[peer] !== undefined || failures[peer] !== undefined);
  const ratios = shownRatios(drain);
  const noRatios = ratios.map(() => "");

  const cells = (of: (rounds: readonly DrainRound[]) => string) => [
    ...peers.map((peer) => (rounds[peer] === undefined ? FAILED : of(rounds[peer]))),
    of(ours),
  ];
  const ratioRows = MEASURES.map((measure) => {
    const goals = ratios.flatMap(({ head, of, goal }) => {
      const most = goal(measure);
      return most === undefined ? [] : [`${head === "ratio" ? "" : `${head}: `}${atMost(most, of(measure).median)}`];
    });
    const figures = cells((rounds) => spreadText(spreadOf(rounds.map(measure.of))));
    return row(measure.title, ...figures, ...ratios.map(({ of }) => spreadText(of(measure))), goals.join("; "));
  });

  return [
    `### ${titleOf(drain)}`,
    "",
    `${ours.length === 1 ? "One round" : `Median (lowest to highest) of ${ours.length} rounds`} in alternation. ${ratioText(peers)}${access === "Kubeconfig" ? " Mooring read a kubeconfig, which costs it memory that it does not need in a pod." : ""}`,
    "",
    ...heading("", ...peers, "Mooring", ...ratios.map(({ head }) => head), "goal"),
    ...ratioRows,
    row(
      "start to first remote call, s",
      ...cells((rounds) => spreadText(firstCalls(rounds))),
      ...noRatios,
      atMost(FIRST_CALL_GOAL_SECONDS, firstCalls(ours).median, " s"),
    ),
    row(
      "duplicate creates",
      ...cells((rounds) => String(duplicates(rounds))),
      ...noRatios,
      `0: ${duplicates(ours) === 0 ? "met" : "not met"}`,
    ),
    "",
    ...limitsText(drain),
    ...peers.flatMap((peer) => (failures[peer] === undefined ? [] : [`${peer} failed: ${failures[peer]}.`, ""])),
  ];
}

/** The goals that the bare program does not meet either: no controller in Node can. */
function limitsText(drain: Drain): string[] {
  const least = drain.rounds[LEAST];
  if (least === undefined) return [];
  const ratios = shownRatios(drain).flatMap(({ head, of, goal }) =>
    MEASURES.map((measure) => ({
      name: `${head === "ratio" ? "" : `${head} of `}${measure.title.replace(/,.*$/, "")}`,
      value: of(measure, LEAST).median,
      most: goal(measure) ?? Number.POSITIVE_INFINITY,
    })),
  );
  const start = { name: "start to first remote call", value: firstCalls(least).median, most: FIRST_CALL_GOAL_SECONDS };
  const beyond = [...ratios, start].filter(({ value, most }) => value > most);
  if (beyond.length === 0) return [];
  const listed = beyond.map(({ name, value, most }) => `${name} (${number(value)}, goal ${most})`).join(", ");
  return [`The bare program does not reach every goal either: ${listed}.`, ""];
}

function ratioText(peers: readonly Peer[]): string {
  if (peers.length === 1) return "A ratio compares a round with the peer's round right before it.";
  return "A ratio compares rounds of the same number: with controller-runtime, or with the peer that the column names.";
}
