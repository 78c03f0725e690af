import { fileURLToPath } from "node:url";

/** The operator's rights as `kubectl auth can-i --list` prints them, checked in: for `toMatchFileSnapshot`. */
export const RIGHTS = fileURLToPath(new URL("../integration/rights/can-i.txt", import.meta.url));

/** What a user may do in any namespace that is served, and in the release's own; without what every authenticated user may. */
export async function rightsText(
  kubectl: (...args: string[]) => Promise<string>,
  user: string,
  served: string,
  own: string,
): Promise<string> {
  const rights = async (namespace: string) => {
    const table = await kubectl("--namespace", namespace, "auth", "can-i", "--list", "--no-headers", `--as=${user}`);
    // What system:basic-user, system:discovery and the like give is the cluster's affair.
    const lines = table.split("\n").map((line) => line.trim().replaceAll(/\s{2,}/g, "  "));
    return lines.filter((line) => line !== "" && !line.startsWith("[/") && !line.startsWith("selfsubject")).sort();
  };
  const parts = [await rights(served), await rights(own)].map((lines) => `${lines.join("\n")}\n`);
  return `everywhere\n${parts[0]}\nin the release's namespace\n${parts[1]}`;
}
