import { describe, expect, it } from "vitest";
import { anchorOf, linkOnSite, siteOf } from "../../../site/links.ts";
import { NAVIGATION } from "../../../site/navigation.ts";
import { anchorsOf, documentationPages } from "../../support/pages.ts";

const REPOSITORY = "https://github.com/mooring-dev/mooring";
const pages = (await documentationPages()).filter(({ path }) => path.startsWith("docs/"));

describe("the navigation of the site", () => {
  it("has every page of docs/ once, and no other", () => {
    const listed = NAVIGATION.flatMap((group) => group.pages.map((page) => `docs/${page}.md`));
    expect(listed.sort()).toEqual(pages.map(({ path }) => path).sort());
  });

  it("shows the page README of a folder as its index", () => {
    expect(["README", "reference/README", "how-to/accounts"].map(siteOf)).toEqual([
      "/",
      "/reference/",
      "/how-to/accounts",
    ]);
  });
});

describe("links of the site", () => {
  it.each([
    { page: "how-to/bills.md", link: "accounts.md#budgets", shown: "accounts.md#budgets" },
    { page: "how-to/accounts.md", link: "../reference/reasons.md", shown: "../reference/reasons.md" },
    { page: "how-to/accounts.md", link: "../reference/README.md#alerts", shown: "../reference/index.md#alerts" },
    { page: "how-to/ui.md", link: "../images/ui-halted.png", shown: "../images/ui-halted.png" },
    { page: "how-to/ui.md", link: "#permissions", shown: "#permissions" },
    { page: "how-to/ui.md", link: "https://example.com/a", shown: "https://example.com/a" },
    { page: "how-to/ui.md", link: "../../CHANGELOG.md", shown: `${REPOSITORY}/blob/main/CHANGELOG.md` },
    { page: "how-to/accounts.md", link: "../../README.md#a", shown: `${REPOSITORY}/blob/main/README.md#a` },
    {
      page: "how-to/gitops.md",
      link: "../../examples/integrations",
      shown: `${REPOSITORY}/tree/main/examples/integrations`,
    },
    {
      page: "explanation/engine.md",
      link: "engine-example.ts",
      shown: `${REPOSITORY}/blob/main/docs/explanation/engine-example.ts`,
    },
  ])("$link of $page leads to $shown", ({ page, link, shown }) => {
    expect(linkOnSite(page, link, REPOSITORY)).toBe(shown);
  });

  it("lead to the same headings as at a Git host", () => {
    for (const { text } of pages) {
      const headings = text.replaceAll(/^```[\s\S]*?^```$/gm, "").matchAll(/^#+ (.+)$/gm);
      expect([...headings].map(([, heading = ""]) => anchorOf(heading))).toEqual(anchorsOf(text));
    }
  });
});
