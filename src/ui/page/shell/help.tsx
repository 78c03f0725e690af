import { useEffect, useRef, useState } from "preact/hooks";
import { useActiveShortcuts, useShortcuts } from "../shortcuts.ts";

const GO: readonly { key: string; help: string; path: string }[] = [
  { key: "1", help: "Overview", path: "overview" },
  { key: "2", help: "Jobs", path: "jobs" },
  { key: "3", help: "Endpoints", path: "endpoints" },
  { key: "4", help: "Money", path: "money" },
  { key: "5", help: "All objects", path: "all" },
];

/** The keys of what is shown, after `?`. */
export function Help() {
  const [open, setOpen] = useState(false);
  useShortcuts([
    { key: "?", help: "These keys", run: () => setOpen(true) },
    ...GO.map(({ key, help, path }) => ({
      key,
      help,
      run: () => {
        window.location.hash = `#/${path}`;
      },
    })),
  ]);
  return open ? <HelpDialog onClose={() => setOpen(false)} /> : null;
}

function HelpDialog({ onClose }: { onClose: () => void }) {
  const shortcuts = useActiveShortcuts();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {shortcuts.active().map(({ key, help }) => (
          <div key={key}>
            <dt>
              <kbd>{key.replace("Mod+", "Ctrl ")}</kbd>
            </dt>
            <dd>{help}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="actions">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
