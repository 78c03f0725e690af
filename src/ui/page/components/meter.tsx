import { useId } from "preact/hooks";

type MeterProps = { label: string; value: number; max: number; text: string };

/** A share of a limit, with both as a text. */
export function Meter({ label, value, max, text }: MeterProps) {
  const id = useId();
  return (
    <div class="meter">
      <span id={id}>{label}</span>
      <meter aria-labelledby={id} min={0} max={Math.max(max, 0.0001)} high={max * 0.8} value={value} />
      <span class="quiet">{text}</span>
    </div>
  );
}
