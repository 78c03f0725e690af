/** The `mooring` command. This file loads nothing else before it has looked at the Node version. */
const NEEDED = [22, 19] as const;
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(
    `mooring needs Node ${NEEDED.join(".")} or newer; this is Node ${process.versions.node}. Install a newer Node, or run it with: npx -y node@24 ${process.argv[1] ?? "mooring.mjs"}\n`,
  );
  process.exit(1);
}

// V8 uses compiled code only under the flags that it was compiled with, and Node's own modules were compiled without any. The flags of the heap
// in the first line have had their effect: they count only when the heap is made.
const { setFlagsFromString } = await import("node:v8");
for (const flag of ["--max-semi-space-size", "--initial-old-space-size"]) setFlagsFromString(`${flag}=0`);

const { run } = await import("./cli/program.ts");
try {
  await run(process.argv);
} catch (error) {
  // One line for a person; what was being done is in the message.
  const { errorText } = await import("./cli/error-text.ts");
  process.stderr.write(`mooring: ${errorText(error)}\n`);
  process.exitCode = 1;
}
