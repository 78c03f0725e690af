import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

type ConfirmDialogProps = {
  title: string;
  /** Label of the button that does it. */
  confirm: string;
  danger?: boolean;
  /** Nothing can be confirmed. */
  disabled?: boolean;
  onConfirm: () => void;
  onCancel: () => void;
  /** What will happen. */
  children: ComponentChildren;
};

/** Asks before something with a consequence. Escape and Cancel do nothing. */
export function ConfirmDialog({ title, confirm, danger = false, disabled = false, ...rest }: ConfirmDialogProps) {
  const { onConfirm, onCancel, children } = rest;
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={onCancel} aria-labelledby={id}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          onConfirm();
        }}
      >
        <h2 id={id}>{title}</h2>
        {children}
        <div class="actions">
          <button type="button" class="wa-outlined" onClick={onCancel}>
            Cancel
          </button>
          <button type="submit" disabled={disabled} class={danger ? "wa-danger" : "wa-brand"}>
            {confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
