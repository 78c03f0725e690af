/** A Markdown table. Cells may hold any text: what Markdown would read as markup is escaped. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map((cells) => line(cells.map(cell)))].join("\n");
}

/** Text as code in a cell; nothing for an empty text. */
export function code(text: string): string {
  return text === "" ? "" : `\`${text}\``;
}

/** The first lines of a generated page. */
export function pageHead(title: string, source: string): string {
  return `<!-- Generated from ${source} by \`npm run generate\`; do not edit. -->\n# ${title}\n`;
}

/** A `<` outside code begins HTML, and a `|` ends the cell even in code. */
function cell(text: string): string {
  const parts = text.replaceAll("\n", " ").split(/(`[^`]*`)/);
  return parts
    .map((part, index) => (index % 2 === 0 ? part.replaceAll("<", "&lt;") : part))
    .join("")
    .replaceAll("|", "\\|");
}
