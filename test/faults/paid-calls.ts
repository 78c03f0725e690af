import type { AuditEntry, World } from "../support/world.ts";

export const PAID = ["submitSpeech", "synthesizeSpeech", "streamSpeech", "submitImageToVideo", "submitVideoToVideo"];

/** Paid calls of each job, by the text that is its name. */
export async function paidCalls(world: Pick<World, "audit">): Promise<Map<string, AuditEntry[]>> {
  const calls = new Map<string, AuditEntry[]>();
  for (const entry of await world.audit()) {
    if (!PAID.includes(entry.operation)) continue;
    const [name = ""] = /job-\d+-end/.exec(JSON.stringify(entry.body)) ?? [];
    calls.set(name, [...(calls.get(name) ?? []), entry]);
  }
  return calls;
}
