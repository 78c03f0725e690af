import { Monitor, Moon, Sun } from "lucide";
import { useState } from "preact/hooks";
import { applyTheme, readTheme, type ThemeChoice } from "../color-scheme.ts";
import { Icon } from "../components/icon.tsx";

const CHOICES: Record<ThemeChoice, { icon: typeof Sun; label: string; next: ThemeChoice }> = {
  auto: { icon: Monitor, label: "as the system", next: "light" },
  light: { icon: Sun, label: "light", next: "dark" },
  dark: { icon: Moon, label: "dark", next: "auto" },
};

/** A button that goes through the color schemes. */
export function Theme() {
  const [theme, setTheme] = useState(readTheme());
  const { icon, label, next } = CHOICES[theme];
  return (
    <button
      type="button"
      class="wa-plain icon-button"
      aria-label={`Colors: ${label}`}
      title={`Colors: ${label}`}
      onClick={() => {
        setTheme(next);
        applyTheme(next);
      }}
    >
      <Icon icon={icon} />
    </button>
  );
}
