import { dirname, extname, join, normalize } from "node:path/posix";

/** Where the site shows a page of docs/: the page README of a folder is its index. */
export function siteOf(page: string): string {
  return `/${page}`.replace(/README$/, "");
}

/**
 * The target of a link for the site. Only the pages and images of docs/ are on the site: every other file of the repository becomes
 * an address of `repository`.
 * @param page path of the page below docs/, such as `kinds/account.md`
 */
export function linkOnSite(page: string, target: string, repository: string): string {
  if (target === "" || target.startsWith("#") || /^[a-z]+:/.test(target)) return target;
  const [path = "", anchor] = target.split("#");
  const file = normalize(join("docs", dirname(page), path));
  if (file.startsWith("docs/") && [".md", ".png"].includes(extname(file))) {
    return target.replace(/(^|\/)README\.md/, "$1index.md");
  }
  const view = extname(file) === "" ? "tree" : "blob";
  return `${repository}/${view}/main/${file}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** The anchor of a heading, as Git hosts make it: links of docs/ work on both. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}
