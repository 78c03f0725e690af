import type { IconNode } from "lucide";
import { h } from "preact";

/** A picture that only repeats what a word beside it says. */
export function Icon({ icon }: { icon: IconNode }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {icon.map(([tag, attributes], index) => h(tag, { key: index, ...attributes }))}
    </svg>
  );
}
