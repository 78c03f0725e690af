import { useSyncExternalStore } from "preact/compat";

/** What the user chose: as the system has it, or one of the two. */
export type ThemeChoice = "auto" | "light" | "dark";

const KEY = "mooring-theme";
const CHANGED = "mooring-theme-changed";

export function readTheme(): ThemeChoice {
  const stored = window.localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "auto";
}

export function applyTheme(choice: ThemeChoice): void {
  if (choice === "auto") window.localStorage.removeItem(KEY);
  else window.localStorage.setItem(KEY, choice);
  show();
  window.dispatchEvent(new Event(CHANGED));
}

/** A color of the style sheet as a canvas understands it, such as `--accent`: the value of the scheme that is shown. */
export function colorOf(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** The class that the design system's dark colors hang on. */
function show(): void {
  const choice = readTheme();
  const isDark = choice === "dark" || (choice === "auto" && dark.matches);
  document.documentElement.classList.toggle("wa-dark", isDark);
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");

dark.addEventListener("change", show);

/** Changes when the colors change: what is painted with them must be painted again. */
export function useColorScheme(): string {
  return useSyncExternalStore(onColorChange, () => `${readTheme()} ${dark.matches}`);
}

function onColorChange(listener: () => void): () => void {
  dark.addEventListener("change", listener);
  window.addEventListener(CHANGED, listener);
  return () => {
    dark.removeEventListener("change", listener);
    window.removeEventListener(CHANGED, listener);
  };
}
