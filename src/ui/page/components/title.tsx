import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useApp } from "../app-context.ts";

/** The heading of a view. A new view starts at it, for the keyboard and for screen readers. `children`: beside the heading's text. */
export function Title({ text, children }: { text: string; children?: ComponentChildren }) {
  const { navigated } = useApp();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${text} · Mooring`;
    if (navigated.current) heading.current?.focus({ preventScroll: true });
  }, [text]);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {text}
      {children}
    </h1>
  );
}
