import type { BuildOptions } from "esbuild";
import { bundledMedia } from "./bundled-media.ts";
import { bundledUndici } from "./bundled-undici.ts";

/** Modules that are imported on demand are in files of their own, so that Node parses them only when they are needed. */
export const bundleOptions = {
  entryPoints: { mooring: "src/main.ts" },
  outdir: "dist",
  outExtension: { ".js": ".mjs" },
  chunkNames: "[name]-[hash]",
  splitting: true,
  bundle: true,
  platform: "node",
  format: "esm",
  // src/main.ts has old syntax: an older Node gets far enough to say which Node is needed.
  target: "node22",
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: "linked",
  legalComments: "linked",
  metafile: true,
  plugins: [bundledMedia, bundledUndici],
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
} as const satisfies BuildOptions;

/** What runs in the browser: one script and one style sheet. */
export const pageOptions = {
  entryPoints: { app: "src/ui/page/main.tsx", style: "src/ui/page/style.css" },
  outdir: "dist/ui",
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "linked",
  metafile: true,
} as const satisfies BuildOptions;
