/** One call of the service and its response. */
export type AuditEntry = {
  seq: number;
  /** RFC 3339, UTC. */
  time: string;
  operation: string;
  method: string;
  path: string;
  query: Record<string, string>;
  body: unknown;
  /** First 12 hex digits of the SHA-256 of the key; "" if the call had none. Never the key. */
  keyHash: string;
  /** null if the simulator broke the connection instead of a response. */
  status: number | null;
  /** What the call changed; absent if it changed nothing. */
  effect?: "EndpointCreated" | "EndpointUpdated" | "EndpointDeleted" | "TaskSubmitted" | "SpeechSynthesized";
  /** The endpoint or task that the call created or changed. */
  id?: string;
  /** The kind of the fault that hit the call. */
  fault?: string;
};

/** Log of every call of the service, also of calls whose response was lost. */
export type Audit = {
  add(entry: Omit<AuditEntry, "seq">): void;
  /** Entries after `since`, oldest first. */
  list(filter: { operation?: string | undefined; since?: number | undefined }): AuditEntry[];
  /** By operation: calls, calls with an effect, and calls by status. */
  counts(): Record<string, { calls: number; effects: number; statuses: Record<string, number> }>;
  clear(): void;
};

export function createAudit(): Audit {
  let entries: AuditEntry[] = [];
  let seq = 0;
  return {
    add: (entry) => {
      seq += 1;
      entries.push({ seq, ...entry });
    },
    list: ({ operation, since = 0 }) =>
      entries.filter((entry) => entry.seq > since && (operation === undefined || entry.operation === operation)),
    counts: () => {
      const counts: ReturnType<Audit["counts"]> = {};
      for (const { operation, effect, status } of entries) {
        const count = counts[operation] ?? { calls: 0, effects: 0, statuses: {} };
        counts[operation] = count;
        count.calls += 1;
        if (effect !== undefined) count.effects += 1;
        const key = status === null ? "none" : String(status);
        count.statuses[key] = (count.statuses[key] ?? 0) + 1;
      }
      return counts;
    },
    clear: () => {
      entries = [];
    },
  };
}
