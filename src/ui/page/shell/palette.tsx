import { useEffect, useRef, useState } from "preact/hooks";
import type { RowPage } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { useApp } from "../app-context.ts";
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
  const [place, setPlace] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const query = new URLSearchParams({ view: "all", search: text.trim(), limit: String(MOST) });
  const { data } = useResource<RowPage>(live, `api/rows?${query}`, never);
  const rows = data?.rows ?? [];
  const chosen = Math.min(place, rows.length - 1);

  function open(index: number): void {
    const row = rows[index];
    if (row === undefined) return;
    dialog.current?.close();
    window.location.hash = `#/objects/${objectPath(row)}`;
  }
  function onKey(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    setPlace(Math.max(0, Math.min(rows.length - 1, chosen + step)));
  }
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="Go to an object" class="palette">
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          open(chosen);
        }}
      >
        <input
          role="combobox"
          aria-label="Go to"
          aria-expanded={rows.length > 0}
          aria-controls="palette-rows"
          aria-activedescendant={rows.length > 0 ? `palette-${chosen}` : undefined}
          placeholder="Name, text, voice, image or label=value"
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setPlace(0);
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
              aria-selected={index === chosen}
              class="line"
              onClick={() => open(index)}
            >
              <strong>{row.name}</strong> <StateBadge state={row.state} />
              <span class="quiet">
                {row.kind} {row.namespace} {row.about}
              </span>
            </div>
          ))}
        </div>
        {data?.total === 0 && <p class="quiet">No object fits.</p>}
      </form>
    </dialog>
  );
}
