/** `npm run docs`: writes the pages that are generated from the source. */
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { generatedPages } from "./pages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
for (const [path, text] of await generatedPages()) await writeFile(root + path, text);
