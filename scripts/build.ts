/**
 * Bundles src/main.ts and every dependency into dist/mooring.mjs and the files beside it, which need only Node, and lists
 * the dependencies in dist/sbom.cdx.json. Modules that are imported on demand are in files of their own, so that Node
 * parses them only when they are needed.
 */
import { chmod, rm, writeFile } from "node:fs/promises";
import { build } from "esbuild";
import { bundledMedia } from "./bundled-media.ts";
import { billOfMaterials } from "./sbom.ts";

await rm("dist", { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { mooring: "src/main.ts" },
  outdir: "dist",
  outExtension: { ".js": ".mjs" },
  chunkNames: "[name]-[hash]",
  splitting: true,
  bundle: true,
  platform: "node",
  format: "esm",
  // Old syntax on purpose: an older Node must get far enough to say which Node is needed.
  target: "node18",
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: true,
  sourcemap: "linked",
  legalComments: "linked",
  metafile: true,
  plugins: [bundledMedia],
  banner: {
    js: [
      // A small young generation: bursts of short-lived objects otherwise triple the operator's memory for hours.
      "#!/usr/bin/env -S node --max-semi-space-size=4",
      'import { createRequire as __createRequire } from "node:module";',
      "const require = __createRequire(import.meta.url);",
      'import { fileURLToPath as __fileURLToPath } from "node:url";',
      "const __filename = __fileURLToPath(import.meta.url);",
      'const __dirname = __fileURLToPath(new URL(".", import.meta.url));',
    ].join("\n"),
  },
});
await chmod("dist/mooring.mjs", 0o755);
const sbom = await billOfMaterials(".", Object.keys(metafile.inputs));
await writeFile("dist/sbom.cdx.json", `${JSON.stringify(sbom, null, 2)}\n`);
