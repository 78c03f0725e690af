import { useEffect, useRef, useState } from "preact/hooks";
import type { ActionView, ObjectRow } from "../../view-types.ts";
import { ApiError, objectPath, postJson } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Copyable } from "./copy.tsx";

type ActionsProps = { row: ObjectRow; actions: readonly ActionView[] };

/** The actions of an object. One with a consequence asks first; a read-only page shows the commands instead. */
export function Actions({ row, actions }: ActionsProps) {
  const { announce, state } = useApp();
  const [asked, setAsked] = useState<ActionView>();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");

  async function perform({ name, label }: ActionView): Promise<void> {
    setAsked(undefined);
    setBusy(true);
    setProblem("");
    try {
      await postJson(`api/objects/${objectPath(row)}/actions/${name}`, { uid: row.uid });
      announce(`${label}: sent for ${row.kind} ${row.name}`);
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error));
    }
    setBusy(false);
  }

  if (state?.readOnly !== undefined) return <ActionCommands actions={actions} />;
  return (
    <>
      <div class="actions">
        {actions.map((action) => (
          <button
            key={action.name}
            type="button"
            disabled={busy}
            class={action.name === "delete" ? "danger" : ""}
            aria-label={`${action.label}: ${row.kind} ${row.name}`}
            onClick={() => (action.confirm === undefined ? void perform(action) : setAsked(action))}
          >
            {action.label}
          </button>
        ))}
      </div>
      {problem !== "" && (
        <p class="notice bad" role="alert">
          {problem}
        </p>
      )}
      {asked !== undefined && (
        <Confirmation
          row={row}
          action={asked}
          onConfirm={() => void perform(asked)}
          onCancel={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

function ActionCommands({ actions }: { actions: readonly ActionView[] }) {
  return (
    <details>
      <summary>Commands for what you can do</summary>
      {actions.map(({ name, label, command }) => (
        <div key={name}>
          <p>{label}</p>
          <Copyable text={command} label={label} />
        </div>
      ))}
    </details>
  );
}

type ConfirmationProps = { row: ObjectRow; action: ActionView; onConfirm: () => void; onCancel: () => void };

function Confirmation({ row, action, onConfirm, onCancel }: ConfirmationProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={onCancel} aria-labelledby="confirm-title">
      <h2 id="confirm-title">
        {action.label}: {row.kind} {row.name}
      </h2>
      <p>{action.confirm}</p>
      <Copyable text={action.command} label="The same as a command" />
      <div class="actions">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={onConfirm}>
          {action.label}
        </button>
      </div>
    </dialog>
  );
}
