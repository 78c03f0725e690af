// Builds versitygw into the user's cache folder, unless it is there: `node test/support/build-versitygw.ts`. The tests do so
// themselves; before them, it is built once instead of by several test files at once.
import { versitygw } from "./versitygw.ts";

console.log(await versitygw((line) => console.log(`versitygw: ${line}`)));
