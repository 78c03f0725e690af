/** `npm run test:sim -- [fuzz] [flags]`: the simulation (sim/main.ts), or disturbed responses and specs (fuzz/main.ts). */
const isFuzz = process.argv[2] === "fuzz";
if (isFuzz) process.argv.splice(2, 1);
await (isFuzz ? import("./fuzz/main.ts") : import("./sim/main.ts"));
