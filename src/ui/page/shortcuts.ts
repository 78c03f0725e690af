import { createContext } from "preact";
import { useContext, useEffect, useRef } from "preact/hooks";

/** A key of the page, such as `j`, or `Mod+k` for Ctrl or Command. */
export type Shortcut = { key: string; help: string; run: () => void };

/** The shortcuts of what is shown. */
export type Shortcuts = {
  add(current: () => readonly Shortcut[]): () => void;
  active(): Shortcut[];
};

const TYPING = "input:not([type='checkbox']), textarea, select, [contenteditable]";

/** Listens to the keyboard. Keys belong to what the user types into; `Mod+` keys do not. While a dialog is open, none of the page's act. */
export function createShortcuts(): Shortcuts {
  const sources = new Set<() => readonly Shortcut[]>();
  const active = () => [...sources].flatMap((source) => source());
  document.addEventListener("keydown", (event) => {
    if (event.altKey || document.querySelector("dialog[open]") !== null) return;
    const mod = event.ctrlKey || event.metaKey;
    const typing = event.target instanceof HTMLElement && event.target.matches(TYPING);
    if (typing && !mod) return;
    const key = mod ? `Mod+${event.key.toLowerCase()}` : event.key;
    const shortcut = active().findLast((one) => one.key === key);
    if (shortcut === undefined) return;
    event.preventDefault();
    shortcut.run();
  });
  return {
    active,
    add(current) {
      sources.add(current);
      return () => void sources.delete(current);
    },
  };
}

const Context = createContext<Shortcuts | undefined>(undefined);
export const ShortcutsProvider = Context.Provider;

export function useActiveShortcuts(): Shortcuts {
  const shortcuts = useContext(Context);
  if (shortcuts === undefined) throw new Error("this component needs a ShortcutsProvider around it");
  return shortcuts;
}

/** Keys that act while the component is shown. */
export function useShortcuts(list: readonly Shortcut[]): void {
  const shortcuts = useActiveShortcuts();
  const current = useRef(list);
  current.current = list;
  useEffect(() => shortcuts.add(() => current.current), [shortcuts]);
}
