import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type MarkdownOptions } from "vitepress";
import { NAMES } from "../../scripts/release/names.ts";
import { anchorOf, linkOnSite, siteOf } from "../links.ts";
import { NAVIGATION } from "../navigation.ts";

const DOCS = fileURLToPath(new URL("../../docs/", import.meta.url));

/** The first heading of a page. */
function titleOf(page: string): string {
  const [, title = page] = /^# (.+)$/m.exec(readFileSync(`${DOCS}${page}.md`, "utf8")) ?? [];
  return title.replaceAll("`", "");
}

const config: NonNullable<MarkdownOptions["config"]> = (markdown) => {
  const render =
    markdown.renderer.rules.link_open ??
    ((tokens, index, options, _env, self) => self.renderToken(tokens, index, options));
  markdown.renderer.rules.link_open = (tokens, index, options, env, self) => {
    const token = tokens[index];
    const target = token?.attrGet("href");
    if (typeof target === "string") token?.attrSet("href", linkOnSite(env.relativePath, target, NAMES.repository));
    return render(tokens, index, options, env, self);
  };
};

export default defineConfig({
  title: "Mooring",
  description: "Kubernetes operator for a remote serverless GPU, speech and video service",
  base: "/mooring/",
  srcDir: "docs",
  outDir: "dist",
  cleanUrls: true,
  // docs is a link to the folder of the repository: below it, the pages find the packages of the site.
  vite: { resolve: { preserveSymlinks: true } },
  rewrites: (page) => page.replace(/README\.md$/, "index.md"),
  markdown: { anchor: { slugify: anchorOf }, config },
  themeConfig: {
    search: { provider: "local" },
    socialLinks: [{ icon: "github", link: NAMES.repository }],
    sidebar: NAVIGATION.map(({ title, pages }, index) => ({
      text: title,
      collapsed: index > 2,
      items: pages.map((page) => ({ text: titleOf(page), link: siteOf(page) })),
    })),
    outline: [2, 3],
    editLink: { pattern: `${NAMES.repository}/edit/main/docs/:path` },
  },
});
