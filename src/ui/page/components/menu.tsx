import "@awesome.me/webawesome/dist/components/dropdown/dropdown.js";
import type { WaSelectEvent } from "@awesome.me/webawesome/dist/events/select.js";
import { ChevronDown } from "lucide";
import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

export type MenuItem = { value: string; label: string; danger?: boolean };
type MenuProps = { label: string; about: string; items: readonly MenuItem[]; onSelect: (value: string) => void };

/** A button that opens a menu. `about`: what the menu is of, for screen readers. */
export function Menu({ label, about, items, onSelect }: MenuProps) {
  const dropdown = useRef<HTMLElement>(null);
  const select = useRef(onSelect);
  select.current = onSelect;
  useEffect(() => {
    const listener = ({ detail }: WaSelectEvent) => select.current(detail.item.getAttribute("data-value") ?? "");
    dropdown.current?.addEventListener("wa-select", listener);
    return () => dropdown.current?.removeEventListener("wa-select", listener);
  }, []);
  return h(
    "wa-dropdown",
    { ref: dropdown, placement: "bottom-end" },
    <button type="button" slot="trigger" class="wa-outlined" aria-label={`${label}: ${about}`}>
      {label} <Icon icon={ChevronDown} />
    </button>,
    items.map(({ value, label: text, danger = false }) =>
      h("wa-dropdown-item", { key: value, "data-value": value, variant: danger ? "danger" : "default" }, text),
    ),
  );
}
