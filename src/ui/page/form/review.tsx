import { diffLines } from "diff";
import { useMemo } from "preact/hooks";
import type { ReviewView } from "../../view-types.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";

type ReviewProps = { review: ReviewView; failure: string; onApply: () => void; onCancel: () => void };

/** The difference that an edit makes, as the API server would store it. */
export function Review({ review: { before, after, problems }, failure, onApply, onCancel }: ReviewProps) {
  const parts = useMemo(() => diffLines(before, after), [before, after]);
  const changes = parts.some(({ added, removed }) => added || removed);
  return (
    <ConfirmDialog
      title="Apply this change?"
      confirm="Apply"
      onConfirm={onApply}
      onCancel={onCancel}
      disabled={!changes || problems.length > 0}
    >
      {[...problems.map(({ path, message }) => `${path}: ${message}`), failure].filter(Boolean).map((problem) => (
        <p key={problem} class="notice wa-danger" role="alert">
          {problem}
        </p>
      ))}
      {!changes && problems.length === 0 && <p>Nothing changes.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls */}
      <section class="code" tabIndex={0} aria-label="Difference">
        <pre>
          {parts.map(({ value, added, removed }, index) => (
            <span key={index} class={added ? "added" : removed ? "removed" : ""}>
              {value.replace(/^(?=.)/gm, added ? "+ " : removed ? "- " : "  ")}
            </span>
          ))}
        </pre>
      </section>
    </ConfirmDialog>
  );
}
