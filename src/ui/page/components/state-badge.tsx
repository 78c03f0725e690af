const TONES: Readonly<Record<string, string>> = {
  Ready: "good",
  Succeeded: "good",
  Stalled: "bad",
  Failed: "bad",
  Halted: "bad",
  NotReady: "warn",
  Deleting: "warn",
  Paused: "quiet",
};

/** A state as a word with a color: the word alone says it all. */
export function StateBadge({ state }: { state: string }) {
  return <span class={`badge ${Object.hasOwn(TONES, state) ? TONES[state] : "busy"}`}>{state}</span>;
}
