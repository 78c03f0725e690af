import { describe, expect, it } from "vitest";
import { billOfMaterials, packageFolder } from "../../scripts/sbom.ts";

describe("the bill of materials", () => {
  it.each([
    ["src/main.ts", undefined],
    ["node_modules/pino/lib/tools.js", "node_modules/pino"],
    ["node_modules/@scope/name/index.js", "node_modules/@scope/name"],
    ["node_modules/a/node_modules/@b/c/d.js", "node_modules/a/node_modules/@b/c"],
  ])("finds the package of %s", (path, folder) => expect(packageFolder(path)).toBe(folder));

  it("names each bundled package once, the same for the same files", async () => {
    const inputs = [
      "node_modules/zod/index.js",
      "src/main.ts",
      "node_modules/pino/pino.js",
      "node_modules/pino/lib/x.js",
    ];
    const bill = await billOfMaterials(".", inputs);
    expect(bill).toMatchObject({
      bomFormat: "CycloneDX",
      metadata: { component: { type: "application", name: "mooring" } },
      components: [
        { name: "pino", purl: expect.stringMatching(/^pkg:npm\/pino@\d/), licenses: [{ license: { id: "MIT" } }] },
        { name: "zod" },
      ],
    });
    expect(await billOfMaterials(".", [...inputs].reverse())).toEqual(bill);
  });
});
