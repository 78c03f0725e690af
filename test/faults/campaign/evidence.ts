import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AuditEntry } from "../../support/world.ts";
import type { Truth } from "./truth.ts";

export type Records = { audit: readonly AuditEntry[]; logs: readonly string[]; truth: Truth };

/** Writes what a run left behind to `NAME.json`. */
export async function keepRecords(folder: string, name: string, { audit, logs, truth }: Records): Promise<void> {
  const { jobs, endpoints, remoteEndpoints, remoteTasks } = truth;
  const remote = { endpoints: [...remoteEndpoints.values()], tasks: [...remoteTasks.values()] };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.json`), JSON.stringify({ jobs, endpoints, remote, audit, logs }));
}

/** What the operators logged and sent for the object that a complaint begins with. */
export function evidenceOf(complaint: string | undefined, { audit, logs, truth }: Records): string[] {
  const [name] = complaint?.split(" ") ?? [];
  if (name === undefined) return [];
  const object = name.replace(/-[0-9a-f]{10}$/, "");
  const ids = [...truth.remoteEndpoints.values()].flatMap(({ id, parameters }) =>
    parameters.appName.startsWith(`${object}-`) ? [id] : [],
  );
  for (const { metadata, status } of truth.jobs) {
    if (metadata.name === object && status?.["taskID"] !== undefined) ids.push(String(status["taskID"]));
  }
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
