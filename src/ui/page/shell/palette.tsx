import { useEffect, useRef, useState } from "preact/hooks";
import type { ObjectRow, RowPage } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { useApp } from "../app-context.ts";
import { ErrorNotice } from "../components/notice.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import { useShortcuts } from "../shortcuts.ts";
import { useResource } from "../use-resource.ts";

/** Objects that are offered at a time. */
const MOST = 8;
const never = () => false;

/** Ctrl-K: goes to any object by a few letters of its name, text, voice or label. */
export function Palette() {
  const [open, setOpen] = useState(false);
  useShortcuts([{ key: "Mod+k", help: "Go to an object", run: () => setOpen(true) }]);
  return open ? <PaletteDialog onClose={() => setOpen(false)} /> : null;
}

function PaletteDialog({ onClose }: { onClose: () => void }) {
  const { live } = useApp();
  const [text, setText] = useState("");
  /** The object that the arrow keys have reached, wherever it is in later rows; else the first row is chosen. */
  const [chosen, setChosen] = useState<string>();
  const [entered, setEntered] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const query = new URLSearchParams({ view: "all", search: text.trim(), limit: String(MOST) });
  const path = `api/rows?${query}`;
  const { data, error, of } = useResource<RowPage>(live, path, never);
  const rows = data?.rows ?? [];
  const reached = rows.findIndex(({ uid }) => uid === chosen);
  const place = Math.max(0, reached);

  // Until they are read, the rows of what is typed are not known: those shown are of fewer letters.
  const known = reached >= 0 || (of === path && error === undefined);
  useEffect(() => {
    if (entered && known) open(rows[place]);
  }, [entered, known]);

  function open(row: ObjectRow | undefined): void {
    setEntered(false);
    if (row === undefined) return;
    dialog.current?.close();
    window.location.hash = `#/objects/${objectPath(row)}`;
  }
  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setChosen(rows[Math.max(0, Math.min(rows.length - 1, place + step))]?.uid);
  }
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="Go to an object" class="palette">
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          setEntered(true);
        }}
      >
        <input
          role="combobox"
          aria-label="Go to"
          aria-expanded={rows.length > 0}
          aria-controls="palette-rows"
          aria-activedescendant={rows.length > 0 ? `palette-${place}` : undefined}
          placeholder="Name, text, voice, image or label=value"
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setChosen(undefined);
            setEntered(false);
          }}
          onKeyDown={onKey}
        />
        <div id="palette-rows" role="listbox" aria-label="Objects">
          {rows.map((row, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the keys
            <div
              key={row.uid}
              id={`palette-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === place}
              class="line"
              onClick={() => open(row)}
            >
              <strong>{row.name}</strong> <StateBadge state={row.state} />
              <span class="quiet">
                {row.kind} {row.namespace} {row.about}
              </span>
            </div>
          ))}
        </div>
        {of === path && data?.total === 0 && <p class="quiet">No object fits.</p>}
        <ErrorNotice error={error} />
      </form>
    </dialog>
  );
}
