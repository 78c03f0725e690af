import { REASONS } from "../src/api/v1alpha1/reasons.ts";

/** docs/reference/reasons.md. */
export function reasonsPage(): string {
  const tables = Object.entries(REASONS).map(([section, reasons]) => {
    const rows = Object.entries(reasons).map(
      ([name, meaning]) => `| \`${name}\` | ${meaning.replaceAll("|", "\\|")} |`,
    );
    return [`## ${section}`, "", "| reason | meaning |", "|---|---|", ...rows, ""].join("\n");
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
