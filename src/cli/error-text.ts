import { getSystemErrorMessage } from "node:util";

/** An error as a command prints it. An error of the operating system names the path and what is wrong with it, without codes. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("errno" in error) || typeof error.errno !== "number") return error.message;
  const why = getSystemErrorMessage(error.errno);
  return "path" in error ? `${String(error.path)}: ${why}` : why;
}
