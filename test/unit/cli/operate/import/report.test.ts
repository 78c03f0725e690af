import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { importedEndpoints } from "../../../../../src/cli/operate/import/manifest.ts";
import { importReport } from "../../../../../src/cli/operate/import/report.ts";
import { desiredOf, endpointOf, recordOf } from "../../../../support/endpoints.ts";

const base = recordOf(desiredOf(endpointOf({ name: "echo", appName: "echo-1" })));
const records = [
  { ...base, id: "ep-1", name: "echo", envs: [{ key: "TOKEN", value: "s3cr3t" }] },
  { ...base, id: "ep-2", name: "broken", appName: "broken-1", image: "" },
];
const imported = importedEndpoints(records, {
  accountRef: undefined,
  env: "secret",
  managementPolicy: "Observe",
  deletionPolicy: "Retain",
  namespace: undefined,
});
const items = [
  { id: "ep-2", name: "broken", written: false, problems: [expect.stringContaining("image")] },
  { id: "ep-1", name: "echo", written: true, file: "echo.yaml", secretFile: "echo-env.secret.yaml" },
];

describe("the report of an import", () => {
  it("lists every endpoint with its files and how many values are left out", () => {
    expect(importReport(imported, "table").split("\n")).toEqual([
      "ID     NAME     FILE        SECRET                 PROBLEMS",
      "ep-2   broken   <none>      <none>                        1",
      "ep-1   echo     echo.yaml   echo-env.secret.yaml          0",
      "",
    ]);
    expect(JSON.parse(importReport(imported, "json"))).toEqual({ items });
    expect(parse(importReport(imported, "yaml"))).toEqual({ items });
  });

  it("names what was written, for a script", () => {
    expect(importReport(imported, "name")).toBe("gpuendpoint.mooring.dev/echo\n");
  });

  it.each(["table", "json", "yaml", "name"] as const)("has no value of an environment (%s)", (format) => {
    expect(imported.some(({ secret }) => secret?.includes(Buffer.from("s3cr3t").toString("base64")))).toBe(true);
    expect(importReport(imported, format)).not.toMatch(/s3cr3t|czNjcjN0/);
  });
});
