import { Pause, Play, Trash2, X } from "lucide";
import { useState } from "preact/hooks";
import type { BulkResult, ListView } from "../../view-types.ts";
import { messageOf, postJson } from "../api.ts";
import { useApp } from "../app-context.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { Icon } from "../components/icon.tsx";
import { keyOfId, MAX_SELECTED, type Selection } from "./selection.ts";

const ACTIONS = [
  {
    name: "suspend",
    label: "Suspend",
    icon: Pause,
    effect:
      "Endpoints lose all their workers and serve no requests. Jobs that are not submitted wait; a submitted one goes on and is paid for.",
  },
  {
    name: "resume",
    label: "Resume",
    icon: Play,
    effect: "Endpoints get their workers back. Jobs send their requests, which are paid for.",
  },
  {
    name: "delete",
    label: "Delete",
    icon: Trash2,
    effect:
      "The objects are deleted. Endpoints follow their deletion policies. A submitted job goes on at the service and is paid for; its result stays there until it expires.",
  },
] as const;
type BulkAction = (typeof ACTIONS)[number];

type BulkActionsProps = { view: ListView; selection: Selection; total: number };

/** What can be done to all selected rows at once. */
export function BulkActions({ view, selection, total }: BulkActionsProps) {
  const { announce } = useApp();
  const [asked, setAsked] = useState<BulkAction>();
  const [problem, setProblem] = useState("");
  const { count, selected } = selection;

  async function perform({ name, label }: BulkAction): Promise<void> {
    setAsked(undefined);
    try {
      const objects = Object.keys(selected).map(keyOfId);
      const { done, failed } = await postJson<BulkResult>("api/bulk", { action: name, objects });
      announce(`${label}: sent for ${done.toLocaleString()} of ${objects.length.toLocaleString()}`);
      setProblem(
        failed
          .map((one) => `${one.name}: ${one.message}`)
          .slice(0, 5)
          .join("; "),
      );
      const left = failed.map((one) => [one.id, true] as const);
      selection.set(Object.fromEntries(left));
    } catch (error) {
      setProblem(messageOf(error));
    }
  }

  if (count === 0 && problem === "") return null;
  const actions = view === "all" ? ACTIONS.filter(({ name }) => name === "delete") : ACTIONS;
  return (
    <section class="bulk" aria-label="Selected rows">
      <p role="status">
        {count.toLocaleString()} of {total.toLocaleString()} selected
        {count === MAX_SELECTED && total > count && `, the most for one action`}
      </p>
      {problem !== "" && <p role="alert">{problem}</p>}
      {actions.map((action) => (
        <button
          key={action.name}
          type="button"
          class="wa-outlined"
          disabled={count === 0}
          onClick={() => setAsked(action)}
        >
          <Icon icon={action.icon} /> {action.label}
        </button>
      ))}
      <button
        type="button"
        class="wa-plain"
        aria-label="Select nothing"
        onClick={() => {
          selection.set({});
          setProblem("");
        }}
      >
        <Icon icon={X} />
      </button>
      {asked !== undefined && (
        <ConfirmDialog
          title={`${asked.label} ${count.toLocaleString()} ${count === 1 ? "object" : "objects"}`}
          confirm={asked.label}
          danger={asked.name === "delete"}
          onConfirm={() => void perform(asked)}
          onCancel={() => setAsked(undefined)}
        >
          <p>{asked.effect}</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
