/** A message on two lines at most; the tooltip and the page of the object have all of it. */
export function Message({ text }: { text: string }) {
  return (
    <span class="message" title={text}>
      {text}
    </span>
  );
}
