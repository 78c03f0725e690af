/** `npm run bench -- [replicas | soak] [flags]`: see main.ts, replicas-main.ts and soak.ts. */
const PROGRAMS: Readonly<Record<string, string>> = {
  replicas: "./replicas-main.ts",
  soak: "./soak.ts",
};

const program = PROGRAMS[process.argv[2] ?? ""];
if (program !== undefined) process.argv.splice(2, 1);
try {
  await import(program ?? "./main.ts");
} catch (error) {
  // Of `parseArgs`: a flag that there is not, or one without its value.
  if (!(error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"))) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
