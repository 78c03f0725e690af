import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "../../tools/cluster/run-program.ts";
import { tool } from "../../tools/programs/tool.ts";

/** Where health.lua and health_test.lua are. */
export const ARGO_CD = fileURLToPath(new URL("../../examples/gitops/argo-cd", import.meta.url));

export type HealthCase = { name: string; obj: unknown; status: "Healthy" | "Progressing" | "Degraded" | "Suspended" };

/** Runs health_test.lua in the Lua of Argo CD, with further cases, and returns its lines. @throws Error when a case is not as expected */
export async function testHealth(cases: readonly HealthCase[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-lua-"));
  try {
    const file = join(folder, "cases.lua");
    await writeFile(file, `return ${luaOf(cases)}\n`);
    const output = await runProgram(await tool("glua"), ["health_test.lua", file], { cwd: ARGO_CD });
    return output.split("\n");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** JSON data as a Lua expression, of the shape that Argo CD hands a script an object in. */
function luaOf(value: unknown): string {
  if (value === null || value === undefined) return "nil";
  if (typeof value === "boolean" || typeof value === "number") return String(value);
  if (typeof value === "string") return luaString(value);
  if (Array.isArray(value)) return `{${value.map(luaOf).join(",")}}`;
  return `{${Object.entries(value)
    .map(([key, member]) => `[${luaString(key)}]=${luaOf(member)}`)
    .join(",")}}`;
}

/** Every byte that is no plain letter as `\ddd`. */
function luaString(text: string): string {
  const bytes = Array.from(Buffer.from(text), (byte) =>
    /[\w .,:/-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, "0")}`,
  );
  return `"${bytes.join("")}"`;
}
