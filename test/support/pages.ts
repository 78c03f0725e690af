import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export type Page = { path: string; text: string };

export const projectRoot = fileURLToPath(new URL("../..", import.meta.url));

/** README.md and every page of docs/, with paths from the root of the repository. */
export async function documentationPages(): Promise<Page[]> {
  const names = await readdir(join(projectRoot, "docs"), { recursive: true });
  const paths = names.filter((name) => name.endsWith(".md")).map((name) => `docs/${name}`);
  return Promise.all(
    ["README.md", ...paths.sort()].map(async (path) => ({
      path,
      text: await readFile(join(projectRoot, path), "utf8"),
    })),
  );
}

/** Anchors of the headings of a page, as Git hosts make them. */
export function anchorsOf(page: string): string[] {
  const headings = page.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, text = ""]) =>
    text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}
