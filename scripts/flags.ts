import { Command } from "commander";

/** A Markdown table of the flags of one `mooring` subcommand, from the command itself. */
export function flagsTable(register: (program: Command) => void): string {
  const program = new Command();
  register(program);
  const rows = program.commands.flatMap(({ options }) =>
    options.map(({ flags, description, envVar, defaultValue }) => {
      const variable = envVar ?? /\[\$(\w+)\]$/.exec(description)?.[1] ?? "";
      const meaning = description.replace(/ \[\$\w+\]$/, "");
      const hasDefault = defaultValue !== undefined && String(defaultValue) !== "";
      const fallback = hasDefault ? ` (default ${String(defaultValue)})` : "";
      return `| \`${flags}\` | ${variable === "" ? "" : `\`${variable}\``} | ${`${meaning}${fallback}`.replaceAll("|", "\\|")} |`;
    }),
  );
  return ["| flag | environment | meaning |", "|---|---|---|", ...rows].join("\n");
}

/**
 * The page with the text between `<!-- flags -->` and `<!-- /flags -->` replaced.
 * @throws Error when the page lacks the two marks
 */
export function withFlags(page: string, table: string): string {
  const marks = /(<!-- flags[^>]*-->\n)[\s\S]*?(<!-- \/flags -->)/;
  if (!marks.test(page)) throw new Error("the page has no <!-- flags --> and <!-- /flags --> to write between");
  return page.replace(marks, (_, open: string, close: string) => `${open}${table}\n${close}`);
}
