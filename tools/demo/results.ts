import type { Row } from "./rows.ts";

export type Fetched = { job: string; url: string; type: string; bytes: number; problem?: string };

/** Fetches every result once, without a key, as anyone would who got the URL. */
export async function fetchResults(rows: readonly Row[], signal: AbortSignal): Promise<Fetched[]> {
  const results = rows.flatMap(({ kind, name, results }) => results.map((url) => ({ job: `${kind}/${name}`, url })));
  return Promise.all(results.map(async (result) => ({ ...result, ...(await look(result.url, signal)) })));
}

async function look(url: string, signal: AbortSignal): Promise<Omit<Fetched, "job" | "url">> {
  try {
    const answer = await fetch(url, { signal });
    const bytes = (await answer.arrayBuffer()).byteLength;
    const type = answer.headers.get("content-type") ?? "no type";
    if (!answer.ok) return { type, bytes, problem: `the URL answers ${answer.status}` };
    return bytes === 0 ? { type, bytes, problem: "the URL has no content" } : { type, bytes };
  } catch (error) {
    signal.throwIfAborted();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    return { type: "-", bytes: 0, problem: `the URL cannot be fetched: ${String(error)} ${cause}`.trim() };
  }
}

export function resultLines(fetched: readonly Fetched[]): string[] {
  const sizes = fetched.map(({ bytes }) => `${(bytes / 1000).toFixed(1)} kB`);
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map((text) => text.length));
  const jobs = widest(fetched.map(({ job }) => job));
  const types = widest(fetched.map(({ type }) => type));
  return fetched.map(({ job, url, type, problem }, index) => {
    const size = (sizes[index] ?? "").padStart(widest(sizes));
    return `${job.padEnd(jobs)}   ${type.padEnd(types)}   ${size}   ${url}${problem === undefined ? "" : `   ${problem}`}`;
  });
}
