import type { MomentView } from "../../view-types.ts";
import { Prose } from "../components/prose.tsx";
import { localTime } from "../time.ts";

type TimelineProps = { history: readonly MomentView[]; eventsMissing: string | undefined };

/** What a person wants to know first; the rest after a click. Oldest first. */
export function Timeline({ history, eventsMissing }: TimelineProps) {
  const important = history.filter((moment) => moment.important);
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {eventsMissing !== undefined && <p class="notice wa-warning">{eventsMissing}</p>}
      <Moments history={important} />
      {important.length < history.length && (
        <details>
          <summary>All {history.length} entries</summary>
          <Moments history={history} />
        </details>
      )}
    </section>
  );
}

function Moments({ history }: { history: readonly MomentView[] }) {
  return (
    <ol class="timeline">
      {history.map(({ time, what, text }, index) => (
        <li key={index} class={text.startsWith("Warning ") ? "wa-warning" : ""}>
          <time dateTime={time} title={time}>
            {localTime(time)}
          </time>{" "}
          <strong>{what}</strong> <Prose text={text} />
        </li>
      ))}
    </ol>
  );
}
