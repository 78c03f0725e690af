/**
 * Writes what V8 makes of a bundle for NODE_COMPILE_CACHE=CACHE: node COMPILE_FLAGS scripts/compile-cache.ts ENTRY CACHE
 * It is for the Node, the platform and the user that run this, and for an entry that is started with HEAP_FLAGS and takes them back before it
 * imports the other modules of its folder.
 */
import { readdir } from "node:fs/promises";
import { enableCompileCache, flushCompileCache, registerHooks } from "node:module";
import { basename, dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { HEAP_FLAGS, TAKE_BACK_FLAGS } from "./node-flags.ts";

const [entry = "", cache = ""] = process.argv.slice(2);
const folder = dirname(entry);
const modules = (await readdir(folder)).filter((name) => name.endsWith(".mjs") && name !== basename(entry));

// The cache counts for the flags that V8 has when Node opens it, and each module for those that V8 has when it is compiled.
setFlagsFromString("--hash-seed=0");
for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
const { message } = enableCompileCache(resolve(cache));
if (message !== undefined) throw new Error(`${cache} cannot be a compile cache: ${message}`);
for (const flag of TAKE_BACK_FLAGS) setFlagsFromString(flag);

// A module that gets an empty one for each of its imports is compiled and never runs. One after the other: V8 counts scripts, and writes the count.
const urls = modules.toSorted().map((name) => pathToFileURL(resolve(folder, name)).href);
registerHooks({
  resolve: (specifier, context, next) =>
    urls.includes(context.parentURL ?? "")
      ? { url: "data:text/javascript,", shortCircuit: true }
      : next(specifier, context),
});
for (const url of urls) {
  const error = await import(url).catch((reason: unknown) => reason);
  if (!(error instanceof SyntaxError && error.message.includes("does not provide an export"))) {
    throw new Error(`${url} cannot be compiled alone`, { cause: error });
  }
}
flushCompileCache();
