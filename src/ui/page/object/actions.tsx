import { useId, useState } from "preact/hooks";
import type { ActionView, ObjectRow } from "../../view-types.ts";
import { messageOf, objectPath, postJson } from "../api.ts";
import { useApp } from "../app-context.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { Copyable } from "../components/copy.tsx";
import { Menu } from "../components/menu.tsx";
import { Prose } from "../components/prose.tsx";

type ActionsProps = { row: ObjectRow; actions: readonly ActionView[] };

/**
 * The actions of an object: those that help in its state as buttons, the others in a menu. One with a consequence asks first. A read-only
 * page shows the commands instead.
 */
export function Actions({ row, actions }: ActionsProps) {
  const { state } = useApp();
  const { perform, ask, dialog, problem, busy } = useAction(row);
  if (state?.readOnly !== undefined) return <ActionCommands actions={actions} />;
  const shown = actions.filter(({ primary }) => primary);
  const others = actions.filter(({ primary }) => !primary);
  const choose = (action: ActionView) => (action.confirm === undefined ? void perform(action, "") : ask(action));
  const about = `${row.kind} ${row.name}`;
  return (
    <>
      <div class="actions">
        {shown.map((action) => (
          <button
            key={action.name}
            type="button"
            disabled={busy}
            class={action.danger ? "wa-danger" : "wa-brand"}
            aria-label={`${action.label}: ${about}`}
            onClick={() => choose(action)}
          >
            {action.label}
          </button>
        ))}
        {others.length > 0 && (
          <Menu
            label={shown.length === 0 ? "Actions" : "More"}
            about={about}
            items={others.map(({ name, label, danger }) => ({ value: name, label, danger }))}
            onSelect={(name) => {
              const action = others.find((one) => one.name === name);
              if (action !== undefined) choose(action);
            }}
          />
        )}
      </div>
      {problem !== "" && (
        <p class="notice wa-danger" role="alert">
          {problem}
        </p>
      )}
      {dialog}
    </>
  );
}

/** Sends an action, after a question where it has a consequence. */
function useAction(row: ObjectRow) {
  const { announce } = useApp();
  const [asked, setAsked] = useState<ActionView>();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");

  async function perform({ name, label }: ActionView, input: string): Promise<void> {
    setAsked(undefined);
    setBusy(true);
    setProblem("");
    try {
      await postJson(`api/objects/${objectPath(row)}/actions/${name}`, { uid: row.uid, input });
      announce(`${label}: sent for ${row.kind} ${row.name}`);
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  }

  const dialog = asked !== undefined && (
    <Question
      row={row}
      action={asked}
      onConfirm={(input) => void perform(asked, input)}
      onCancel={() => setAsked(undefined)}
    />
  );
  return { perform, ask: setAsked, dialog, problem, busy };
}

type QuestionProps = { row: ObjectRow; action: ActionView; onConfirm: (input: string) => void; onCancel: () => void };

function Question({ row, action, onConfirm, onCancel }: QuestionProps) {
  const { label, confirm = "", input, danger, command } = action;
  const [text, setText] = useState("");
  const id = useId();
  return (
    <ConfirmDialog
      title={`${label}: ${row.kind} ${row.name}`}
      confirm={label}
      danger={danger}
      onConfirm={() => onConfirm(text)}
      onCancel={onCancel}
    >
      <p>
        <Prose text={confirm} />
      </p>
      {input !== undefined && (
        <div class="field">
          <label for={id}>{input}</label>
          <input id={id} required value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
        </div>
      )}
      <details>
        <summary>The same as a command</summary>
        <Copyable text={command.replace("TASK_ID", text === "" ? "TASK_ID" : text)} label="The same as a command" />
      </details>
    </ConfirmDialog>
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
