import type { BuildOptions, PluginBuild } from "esbuild";
import { bundledBuiltins } from "./bundled-builtins.ts";
import { bundledMedia } from "./bundled-media.ts";
import { bundledUndici } from "./bundled-undici.ts";
import { NODE_FLAGS } from "./node-flags.ts";

/** Common to the bundles. Modules that are imported on demand are in files of their own, so that Node parses them only when they are needed. */
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
  plugins: [bundledBuiltins, bundledMedia, bundledUndici],
  banner: {
    js: [
      `#!/usr/bin/env -S node ${NODE_FLAGS.join(" ")}`,
      'import { createRequire as __createRequire } from "node:module";',
      "const require = __createRequire(import.meta.url);",
      'import { fileURLToPath as __fileURLToPath } from "node:url";',
      "const __filename = __fileURLToPath(import.meta.url);",
      'const __dirname = __fileURLToPath(new URL(".", import.meta.url));',
    ].join("\n"),
  },
} as const satisfies BuildOptions;

const OPERATOR = "src/cli/operate/operator.ts";

/** Everything but the operator, which the entry loads from a bundle of its own. */
export const commandOptions = {
  ...bundleOptions,
  plugins: [
    {
      name: "operator-apart",
      setup({ onResolve }: PluginBuild) {
        onResolve({ filter: /\/operate\/operator\.ts$/ }, () => ({ path: "./operator.mjs", external: true }));
      },
    },
    ...bundleOptions.plugins,
  ],
} as const satisfies BuildOptions;

/** The operator shares no file with other commands: what all of it needs is one file, not one for each set of commands that shares a part. */
export const operatorOptions = {
  ...bundleOptions,
  entryPoints: { operator: OPERATOR },
} as const satisfies BuildOptions;

/** What runs in the browser. What a view alone needs, such as plots and waveforms, is in files of its own. */
export const pageOptions = {
  entryPoints: { app: "src/ui/page/main.tsx", style: "src/ui/page/style.css" },
  outdir: "dist/ui",
  chunkNames: "[name]-[hash]",
  splitting: true,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  minify: true,
  legalComments: "linked",
  metafile: true,
} as const satisfies BuildOptions;
