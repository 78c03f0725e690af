import { type Drain, type DrainRound, PEERS, type Peer } from "./figures.ts";
import { heading, number, row } from "./markdown.ts";
import { MEASURES, ratiosOf, type Spread, spreadOf, titleOf } from "./plots.ts";

const FIRST_CALL_GOAL_SECONDS = 0.4;
/** Its ratio shows what Mooring adds to a controller of the same language. */
const SAME_LANGUAGE: Peer = "client-node";
const FAILED = "failed";

const spreadText = ({ median, low, high }: Spread) => `${number(median)} (${number(low)} to ${number(high)})`;
const firstCalls = (rounds: readonly DrainRound[]) => spreadOf(rounds.map((one) => one.firstCallSeconds));
const duplicates = (rounds: readonly DrainRound[]) => rounds.reduce((sum, one) => sum + one.duplicates, 0);

/** The table of a drain: a column for each peer that was measured, then Mooring with its ratios. */
export function drainText(drain: Drain): string[] {
  const { access, rounds, failures = {} } = drain;
  const ours = rounds.Mooring;
  const peers = PEERS.filter((peer) => rounds[peer] !== undefined || failures[peer] !== undefined);
  const compared = rounds[SAME_LANGUAGE] === undefined ? [] : [SAME_LANGUAGE];
  const noRatios = ["", ...compared.map(() => "")];

  const cells = (of: (rounds: readonly DrainRound[]) => string) => [
    ...peers.map((peer) => (rounds[peer] === undefined ? FAILED : of(rounds[peer]))),
    of(ours),
  ];
  const ratioRows = MEASURES.map(({ title, of, goals }) => {
    const ratio = ratiosOf(drain, of);
    const others = compared.map((peer) => spreadText(ratiosOf(drain, of, peer)));
    const most = goals[drain.objects];
    const met = most === undefined ? "" : `at most ${most}: ${ratio.median <= most ? "met" : "not met"}`;
    return row(title, ...cells((rounds) => spreadText(spreadOf(rounds.map(of)))), spreadText(ratio), ...others, met);
  });
  const inTime = firstCalls(ours).median <= FIRST_CALL_GOAL_SECONDS;

  return [
    `### ${titleOf(drain)}`,
    "",
    `Median (lowest to highest) of ${ours.length} rounds in alternation. ${ratioText(peers)}${access === "Kubeconfig" ? " Mooring read a kubeconfig, which costs it memory that it does not need in a pod." : ""}`,
    "",
    ...heading("", ...peers, "Mooring", "ratio", ...compared.map((peer) => `ratio to ${peer}`), "goal"),
    ...ratioRows,
    row(
      "start to first remote call, s",
      ...cells((rounds) => spreadText(firstCalls(rounds))),
      ...noRatios,
      `at most ${FIRST_CALL_GOAL_SECONDS} s: ${inTime ? "met" : "not met"}`,
    ),
    row(
      "duplicate creates",
      ...cells((rounds) => String(duplicates(rounds))),
      ...noRatios,
      `0: ${duplicates(ours) === 0 ? "met" : "not met"}`,
    ),
    "",
    ...peers.flatMap((peer) => (failures[peer] === undefined ? [] : [`${peer} failed: ${failures[peer]}.`, ""])),
  ];
}

function ratioText(peers: readonly Peer[]): string {
  if (peers.length === 1) return "A ratio compares a round with the peer's round right before it.";
  return "A ratio compares rounds of the same number: with controller-runtime, or with the peer that the column names.";
}
