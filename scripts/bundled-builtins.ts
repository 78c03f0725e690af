import { createHash } from "node:crypto";
import { isBuiltin } from "node:module";
import { relative } from "node:path";
import type { Plugin } from "esbuild";

/**
 * Imports of Node's modules get the exports that the importer names. Node's own import reads every export of such a module, and so loads
 * what is behind its getters: for `node:http` all of Node's fetch and WebSocket, which take 45 ms and 10 MiB. Each importer has its own
 * few lines: shared ones would be one more file at the start for each module.
 */
export const bundledBuiltins: Plugin = {
  name: "bundled-builtins",
  setup(build) {
    build.onResolve({ filter: /^(node:)?[a-z0-9_/]+$/ }, ({ path, importer, kind }) =>
      kind === "import-statement" && isBuiltin(path)
        ? { path: `${path}#${shortHash(relative(".", importer))}`, namespace: "bundled-builtins", pluginData: path }
        : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "bundled-builtins" }, ({ pluginData: path }) => ({
      // esbuild leaves out what is marked as pure and not used.
      contents: [
        `const builtin = process.getBuiltinModule(${JSON.stringify(path)});`,
        "const exportOf = (name) => builtin[name];",
        "export default builtin;",
        ...exportsOf(path).map((name) => `export const ${name} = /* @__PURE__ */ exportOf("${name}");`),
      ].join("\n"),
    }));
  },
};

function exportsOf(path: string): string[] {
  return Object.keys(process.getBuiltinModule(path) ?? {}).filter((name) => /^[a-zA-Z_]\w*$/.test(name));
}

const shortHash = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);
