import { fileURLToPath } from "node:url";

/** What `npm run build` makes. */
export const BUNDLE = fileURLToPath(new URL("../dist/mooring.mjs", import.meta.url));
