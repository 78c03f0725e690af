import type { Plugin } from "esbuild";

/** What src imports from undici, and the files of undici that have it. */
const EXPORTS = {
  Agent: "undici/lib/dispatcher/agent.js",
  Pool: "undici/lib/dispatcher/pool.js",
  ProxyAgent: "undici/lib/dispatcher/proxy-agent.js",
  buildConnector: "undici/lib/core/connect.js",
};

/**
 * Bundles only the parts of undici that src uses. Its index loads fetch, WebSocket, mocks and caches, which are two thirds of it. The
 * build fails when src imports another name.
 */
export const bundledUndici: Plugin = {
  name: "bundled-undici",
  setup(build) {
    build.onResolve({ filter: /^undici$/ }, ({ importer }) =>
      importer.includes("node_modules") ? undefined : { path: "undici", namespace: "bundled-undici" },
    );
    build.onLoad({ filter: /.*/, namespace: "bundled-undici" }, () => ({
      resolveDir: process.cwd(),
      contents: [
        // As undici's index does it: request() and the like are methods of every dispatcher.
        'import Dispatcher from "undici/lib/dispatcher/dispatcher.js";',
        'import api from "undici/lib/api/index.js";',
        "Object.assign(Dispatcher.prototype, api);",
        ...Object.entries(EXPORTS).map(([name, path]) => `export { default as ${name} } from "${path}";`),
      ].join("\n"),
    }));
  },
};
