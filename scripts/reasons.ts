/** A reason of src/api/v1alpha1/reasons.ts with its doc comment. */
export type DocumentedReason = { section: string; name: string; meaning: string };

const SECTION = /^ {2}\/\/ (.+)$/;
const COMMENT = /^ {2}\/\*\* (.+) \*\/$/;
const REASON = /^ {2}(\w+): "(\w+)",$/;

/**
 * The reasons in the source text of src/api/v1alpha1/reasons.ts, in its order. `what`: how errors call them; the conditions of
 * conditions.ts are written in the same way.
 * @throws Error for a reason without a doc comment of one line, or one whose value is not its name
 */
export function parseReasons(source: string, what = "reason"): DocumentedReason[] {
  const reasons: DocumentedReason[] = [];
  let section = "";
  let meaning: string | undefined;
  for (const line of source.split("\n")) {
    section = SECTION.exec(line)?.[1] ?? section;
    meaning = COMMENT.exec(line)?.[1] ?? meaning;
    const [, name, value] = REASON.exec(line) ?? [];
    if (name === undefined) continue;
    if (meaning === undefined || name !== value)
      throw new Error(`${what} ${name}: needs a doc comment of one line above it, and itself as its value`);
    reasons.push({ section, name, meaning });
    meaning = undefined;
  }
  return reasons;
}

/** docs/reasons.md. */
export function reasonsPage(reasons: readonly DocumentedReason[]): string {
  const sections = [...new Set(reasons.map(({ section }) => section))];
  const tables = sections.map((section) => {
    const rows = reasons.filter((reason) => reason.section === section);
    const lines = rows.map(({ name, meaning }) => `| \`${name}\` | ${meaning.replaceAll("|", "\\|")} |`);
    return [`## ${section}`, "", "| reason | meaning |", "|---|---|", ...lines, ""].join("\n");
  });
  return [
    "<!-- Generated from src/api/v1alpha1/reasons.ts by `npm run generate`; do not edit. -->",
    "# Reasons",
    "",
    "The `reason` of every condition is one of these words. The list is closed, so alerts and scripts may rely on it. The",
    "`message` of the condition names the field, the value and what to do.",
    "",
    "```sh",
    "kubectl get gpuep,speech,video,acct -A -o wide",
    "```",
    "",
    ...tables,
  ].join("\n");
}
