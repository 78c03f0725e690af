import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { NAMESPACE_RIGHTS, OPERATOR_RIGHTS, type Right } from "../../../src/operator/rights.ts";

/**
 * The permissions of a ClusterRole that the chart renders, as chart-rbac.test.ts lists them, except for those on leases and those that only
 * `--metrics-auth token-review` needs, which is not the default of the operator.
 */
async function granted(clusterRole: string): Promise<string[]> {
  const table = await readFile(new URL("../../integration/rights/cluster-wide.txt", import.meta.url), "utf8");
  const roles = table.split("\n\n").map((role) => role.trimEnd().split("\n"));
  const [, ...lines] = roles.find(([heading]) => heading?.startsWith(`ClusterRole ${clusterRole}:`)) ?? [];
  const verbsOf = (line: string) => line.split(": ")[1]?.split(" ") ?? [];
  const others = lines.filter((line) => !/^ {2}(leases|tokenreviews|subjectaccessreviews)\./.test(line));
  return others.flatMap((line) => verbsOf(line).map((verb) => `${line.split(": ")[0]}: ${verb}`)).sort();
}

function lineOf({ group, resource, subresource, verb }: Right): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `  ${what}${group === "" ? "" : `.${group}`}: ${verb}`;
}

it("the operator's rights are those that the chart grants", async () => {
  expect(OPERATOR_RIGHTS.map(lineOf).sort()).toEqual(await granted("mooring-system-mooring"));
});

it.each(["secret-reader", "configmap-exporter"] as const)(
  "the rights of %s are those that the chart grants",
  async (role) => {
    expect(NAMESPACE_RIGHTS[role].map(lineOf).sort()).toEqual(await granted(`mooring-system-mooring-${role}`));
  },
);
