const TONES: Readonly<Record<string, string>> = {
  Ready: "wa-success",
  Succeeded: "wa-success",
  Stalled: "wa-danger",
  Failed: "wa-danger",
  Halted: "wa-danger",
  NotReady: "wa-warning",
  Deleting: "wa-warning",
  Paused: "wa-neutral",
  Suspended: "wa-neutral",
};

/** A state as a word with a color: the word alone says it all. */
export function StateBadge({ state }: { state: string }) {
  return <span class={`badge ${Object.hasOwn(TONES, state) ? TONES[state] : "wa-brand"}`}>{state}</span>;
}
