/** Characters of the end that stay visible: a version, an index or a generated suffix. */
const TAIL = 12;
const SHORT = 2 * TAIL;

/** A name or an image that is cut in the middle where its place is too narrow: its end tells it from its neighbors. */
export function Middle({ text }: { text: string }) {
  if (text.length <= SHORT) return <>{text}</>;
  return (
    <span class="middle" title={text}>
      <span>{text.slice(0, -TAIL)}</span>
      <span>{text.slice(-TAIL)}</span>
    </span>
  );
}
