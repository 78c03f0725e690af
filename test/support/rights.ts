import { fileURLToPath } from "node:url";

/** The operator's rights as `kubectl auth can-i --list` prints them, checked in: for `toMatchFileSnapshot`. */
export const RIGHTS = fileURLToPath(new URL("../integration/rights/can-i.txt", import.meta.url));

/** `any`: a served namespace of no value. `read`: one of rbac.secretNamespaces. `own`: the namespace of the release. */
export type Places = { any: string; read: string; own: string };

/** What a user may do in each of the namespaces; without what every authenticated user may. */
export async function rightsText(
  kubectl: (...args: string[]) => Promise<string>,
  user: string,
  { any, read, own }: Places,
): Promise<string> {
  const rights = async (namespace: string) => {
    const table = await kubectl("--namespace", namespace, "auth", "can-i", "--list", "--no-headers", `--as=${user}`);
    // What system:basic-user, system:discovery and the like give is the cluster's affair.
    const lines = table.split("\n").map((line) => withSortedVerbs(line.trim().replaceAll(/\s{2,}/g, "  ")));
    return lines.filter((line) => line !== "" && !line.startsWith("[/") && !line.startsWith("selfsubject")).sort();
  };
  const parts = [
    { title: "in any namespace", namespace: any },
    { title: "also in a namespace of rbac.secretNamespaces", namespace: read },
    { title: "also in the release's namespace", namespace: own },
  ];
  const everywhere = await rights(any);
  const texts = parts.map(async ({ title, namespace }) => {
    const lines = await rights(namespace);
    const missing = everywhere.filter((line) => !lines.includes(line));
    const shown = namespace === any ? lines : lines.filter((line) => !everywhere.includes(line));
    return `${title}\n${[...shown, ...missing.map((line) => `not ${line}`)].join("\n")}\n`;
  });
  return (await Promise.all(texts)).join("\n");
}

/** The API server lists the verbs of several bindings in any order. */
function withSortedVerbs(line: string): string {
  return line.replace(/\[([^\]]*)\]$/, (_, verbs: string) => `[${verbs.split(" ").sort().join(" ")}]`);
}
