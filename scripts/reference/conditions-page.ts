import { CONDITIONS } from "../../src/api/v1alpha1/conditions.ts";
import { code, markdownTable, pageHead } from "./table.ts";

/** docs/reference/conditions.md. */
export function conditionsPage(conditions: Readonly<Record<string, string>> = CONDITIONS): string {
  const rows = Object.entries(conditions).map(([name, meaning]) => {
    const [, kinds = "", text = ""] = /^([^:]+): (.+)$/.exec(meaning) ?? [];
    if (text === "") throw new Error(`condition ${name}: its meaning must begin with the kinds and a colon`);
    return [code(name), kinds, text];
  });
  return [
    pageHead("Conditions", "src/api/v1alpha1/conditions.ts"),
    "`status.conditions` has entries of these types. Each has a status, a [reason](reasons.md), a message for you, and the",
    "generation of the object that it describes.",
    "",
    markdownTable(["type", "kinds", "meaning while True"], rows),
    "",
    "See [the API](api.md#status) for the rules between conditions.",
    "",
  ].join("\n");
}
