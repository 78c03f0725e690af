/**
 * Bundles src/main.ts and every dependency into dist/mooring.mjs and the files beside it, which need only Node, and lists
 * the dependencies in dist/sbom.cdx.json. The web page is in dist/ui.
 */
import { chmod, copyFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { commandOptions, operatorOptions, pageOptions } from "./bundle-options.ts";
import { billOfMaterials } from "./sbom.ts";

await rm("dist", { recursive: true, force: true });
const bundles = [await build(commandOptions), await build(operatorOptions), await build(pageOptions)];
await chmod("dist/mooring.mjs", 0o755);
await copyFile("src/ui/page/icon.svg", "dist/ui/icon.svg");
const inputs = bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs));
const sbom = await billOfMaterials(".", inputs);
await writeFile("dist/sbom.cdx.json", `${JSON.stringify(sbom, null, 2)}\n`);
