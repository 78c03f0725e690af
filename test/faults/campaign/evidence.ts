import type { AuditEntry } from "../../support/world.ts";
import type { Truth } from "./verdict.ts";

/** What the operators logged and sent for the object that a complaint begins with. */
export function evidenceOf(
  complaint: string | undefined,
  { audit, logs, truth }: { audit: readonly AuditEntry[]; logs: readonly string[]; truth: Truth },
): string[] {
  const [name] = complaint?.split(" ") ?? [];
  if (name === undefined) return [];
  const object = name.replace(/-[0-9a-f]{10}$/, "");
  const ids = [...truth.remoteEndpoints.values()].flatMap(({ id, parameters }) =>
    parameters.appName.startsWith(`${object}-`) ? [id] : [],
  );
  const concerns = (text: string) => [`"${object}"`, `${object}-`, ...ids].some((one) => text.includes(one));
  const calls = audit.flatMap(({ time, operation, status, effect, id, fault, query, body }) => {
    const text = JSON.stringify({ operation, status, effect, id, fault, query, body });
    return concerns(text) ? [`    ${time} ${text.slice(0, 300)}`] : [];
  });
  const lines = logs.flatMap((log, index) =>
    log.split("\n").flatMap((line) => (concerns(line) ? [`    operator ${index}: ${line.slice(0, 400)}`] : [])),
  );
  return [...calls.slice(0, 40), ...lines.slice(0, 40)];
}
