import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { OPERATOR_RIGHTS } from "../../../src/operator/rights.ts";

it("the operator's rights are those that the chart grants", async () => {
  const table = await readFile(new URL("../../integration/rights/cluster-wide.txt", import.meta.url), "utf8");
  const [heading, ...granted] = table.split("\n\n")[0]?.split("\n") ?? [];
  expect(heading).toBe("ClusterRole mooring-system-mooring");
  const needed = OPERATOR_RIGHTS.map(({ group, resource, subresource, verb }) => {
    const what = subresource === undefined ? resource : `${resource}/${subresource}`;
    return `  ${what}${group === "" ? "" : `.${group}`}: ${verb}`;
  });
  expect(needed.sort()).toEqual(granted.sort());
});
