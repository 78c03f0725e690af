/**
 * Bundles src/main.ts and every dependency into dist/mooring.mjs and the files beside it, which need only Node, and lists
 * the dependencies in dist/sbom.cdx.json. The web page is in dist/ui.
 */
import { chmod, copyFile, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { bundleOptions, pageOptions } from "./bundle-options.ts";
import { billOfMaterials } from "./sbom.ts";

await rm("dist", { recursive: true, force: true });
const { metafile } = await build(bundleOptions);
await chmod("dist/mooring.mjs", 0o755);
const page = await build(pageOptions);
await copyFile("src/ui/page/icon.svg", "dist/ui/icon.svg");
const inputs = [...Object.keys(metafile.inputs), ...Object.keys(page.metafile.inputs)];
const sbom = await billOfMaterials(".", inputs);
await writeFile("dist/sbom.cdx.json", `${JSON.stringify(sbom, null, 2)}\n`);
