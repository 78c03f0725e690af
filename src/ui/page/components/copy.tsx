import { Check, Copy } from "lucide";
import { useState } from "preact/hooks";
import { useApp } from "../app-context.ts";
import { Icon } from "./icon.tsx";

type CopyButtonProps = { text: string | (() => Promise<string>); label: string };

/** Copies a text; a function makes it when it is asked for. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const { announce } = useApp();
  const [copied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      setCopied(true);
      window.setTimeout(() => setCopied(false), 2_000);
    } catch (error) {
      announce(`Not copied: ${error instanceof Error ? error.message : error}`);
    }
  }
  return (
    <button type="button" class="wa-neutral wa-outlined" onClick={() => void copy()}>
      <Icon icon={copied ? Check : Copy} /> {copied ? "Copied" : label}
    </button>
  );
}

/** A command or a text with a button that copies it. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <div class="copyable">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls */}
      <section class="code" tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <CopyButton text={text} label="Copy" />
    </div>
  );
}
