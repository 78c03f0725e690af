import type { SessionState } from "../../view-types.ts";
import { localTime } from "../time.ts";

type WarningsProps = { connected: boolean; state: SessionState | undefined };

/** What makes all views incomplete or old. */
export function Warnings({ connected, state }: WarningsProps) {
  const problems = state?.kinds.flatMap(({ problem }) => problem ?? []) ?? [];
  return (
    <div class="warnings">
      {!connected && state !== undefined && (
        <p class="notice wa-warning" role="alert">
          The page's server does not respond. The page shows what it knew last and connects again by itself.
        </p>
      )}
      {connected && state?.disconnectedSince !== undefined && (
        <p class="notice wa-warning" role="alert">
          The cluster does not respond since {localTime(state.disconnectedSince)}. The page shows what it knew last.
        </p>
      )}
      {connected && state?.synced === false && <p class="notice">The cluster is being read: lists are incomplete.</p>}
      {problems.length > 0 && (
        <details class="notice wa-warning">
          <summary>Some kinds are not shown</summary>
          <ul>
            {[...new Set(problems)].map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </details>
      )}
      {state?.readOnly !== undefined && <p class="notice">{state.readOnly}.</p>}
    </div>
  );
}
