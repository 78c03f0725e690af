/**
 * Bundles src/main.ts and every dependency into dist/mooring.mjs and the files beside it, which need only Node, and lists
 * the dependencies in dist/sbom.cdx.json.
 */
import { chmod, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { bundleOptions } from "./bundle-options.ts";
import { billOfMaterials } from "./sbom.ts";

await rm("dist", { recursive: true, force: true });
const { metafile } = await build(bundleOptions);
await chmod("dist/mooring.mjs", 0o755);
const sbom = await billOfMaterials(".", Object.keys(metafile.inputs));
await writeFile("dist/sbom.cdx.json", `${JSON.stringify(sbom, null, 2)}\n`);
