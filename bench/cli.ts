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
  if (!(error instanceof TypeError) || !("code" in error)) throw error;
  // A flag that there is not.
  console.error(error.message);
  process.exitCode = 1;
}
