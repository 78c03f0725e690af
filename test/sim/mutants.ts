import type { Invariant } from "./invariants/violation.ts";

/** A guard of the operator that a test build disables: `find` is replaced in the source as it is loaded. */
export type Mutant = {
  name: string;
  file: string;
  find: string;
  replace: string;
  /** What the simulation reports without the guard. */
  breaks: readonly Invariant[];
};

export const MUTANTS: readonly Mutant[] = [
  {
    name: "intent-before-send",
    file: "src/submission/submit-once.ts",
    find: "    await journal.commit(entry, signal);",
    replace: "    journal.commit(entry, signal).catch(() => {});",
    breaks: ["PaidOnce", "OneEndpoint"],
  },
  {
    name: "lease-check",
    file: "src/operator/context.ts",
    find: "if (elector?.surelyHeld() === false)",
    replace: "if (elector === undefined && elector !== undefined)",
    breaks: ["LeaseBeforeWrite"],
  },
  {
    name: "journal-epoch",
    file: "src/submission/journal.ts",
    find: "if (stored === undefined || storedEpoch !== epoch || stored.data?.holder !== identity) {",
    replace: "if (stored === undefined) {",
    breaks: ["PaidOnce", "OneEndpoint", "LeaseBeforeWrite", "Stable"],
  },
  {
    name: "journal-takeover",
    file: "src/submission/journal.ts",
    find: "for (const entry of parseEntries(stored?.data?.intents)) live.set(entry.id, entry);",
    replace: "",
    breaks: ["PaidOnce", "OneEndpoint"],
  },
  {
    name: "journal-outcome",
    file: "src/submission/submit-once.ts",
    find: 'if (delivery === "Unknown") return { kind: "Unknown", entry, error };',
    replace: "",
    breaks: ["PaidOnce", "OneEndpoint"],
  },
  {
    name: "settle-before-status",
    file: "src/submission/submit-once.ts",
    find: "    journal.record(entry.id, request.outcomeOf(value));",
    replace: "    journal.settle(entry.id);",
    breaks: ["PaidOnce", "OneEndpoint"],
  },
  {
    name: "optimistic-lock",
    file: "src/controllers/controller-deps.ts",
    find: "{ metadata: { resourceVersion }, status: patch },",
    replace: "{ metadata: {}, status: patch, resourceVersion: undefined as typeof resourceVersion },",
    breaks: ["TerminalPhase", "PaidOnce", "OneEndpoint", "TrueStatus", "Stable"],
  },
  {
    name: "read-your-writes",
    file: "src/runtime/store.ts",
    find: "      if (!isNewer(object, previous)) return undefined;",
    replace: "",
    breaks: ["PaidOnce", "OneEndpoint", "TerminalPhase", "TrueStatus", "Bounded", "Stable"],
  },
  {
    name: "app-name-lookup",
    file: "src/controllers/gpu-endpoint/observe.ts",
    find: "    const candidate = await searchCreated(facts);",
    replace: "    const candidate = (await searchCreated(facts)) && undefined;",
    breaks: ["OneEndpoint", "Stable"],
  },
  {
    name: "lookup-time",
    file: "src/controllers/gpu-endpoint/plan.ts",
    find: "if (binding.unknownForMs < LOOKUP_MS) return",
    replace: "if (binding.unknownForMs < 0) return",
    breaks: ["OneEndpoint"],
  },
  {
    name: "delivery-verdict",
    file: "src/provider/http/delivery.ts",
    find: 'return proof === "AnyBody" || (proof === "OwnFormat" && ownFormat) ? "Refused" : "Unknown";',
    replace: 'return proof === "AnyBody" || ownFormat ? "Refused" : "Unknown";',
    breaks: ["PaidOnce", "OneEndpoint"],
  },
  {
    name: "broken-connection",
    file: "src/provider/http/transport-failure.ts",
    find: 'const delivery: Delivery = state.written ? "Unknown" : "NotSent";',
    replace: 'const delivery: Delivery = state.status === 299 ? "Unknown" : "NotSent";',
    breaks: ["PaidOnce", "OneEndpoint"],
  },
  {
    name: "deletion-read-back",
    file: "src/controllers/gpu-endpoint/clean-up.ts",
    find: "return isZero(after) ? scaled(after, true) : unscaled(after, accepted, accepted.lastAt);",
    replace: "return accepted.count > 0 ? scaled(after, true) : unscaled(after, accepted, accepted.lastAt);",
    breaks: ["Stable"],
  },
  {
    name: "finalizer",
    file: "src/controllers/gpu-endpoint/finalize.ts",
    find: '  return endpoint.spec.managementPolicy === "Full" && deletionPolicyOf(endpoint) !== "Retain";',
    replace: '  return endpoint.spec.managementPolicy === "Observe" && deletionPolicyOf(endpoint) !== "Retain";',
    breaks: ["Stable"],
  },
  {
    name: "foreign-key-guard",
    file: "src/controllers/account/vanished.ts",
    find: "return shown.some(isEvidence) ? 0 : bound.size;",
    replace: "return shown.some(isEvidence) ? 0 : bound.size * 0;",
    breaks: ["OneEndpoint", "Stable"],
  },
  {
    name: "proof-of-absence",
    file: "src/provider/endpoints/endpoint-index.ts",
    find: "      return (missed.get(id) ?? 0) >= LISTS_WITHOUT;",
    replace: "      return (missed.get(id) ?? 0) >= 0;",
    breaks: ["OneEndpoint", "Stable"],
  },
  {
    name: "copied-resubmit-token",
    file: "src/controllers/jobs/steps.ts",
    find: "      ...(token === undefined ? {} : { lastHandledResubmitToken: token }),",
    replace: "",
    breaks: ["PaidOnce"],
  },
  {
    name: "rate-limit",
    file: "src/provider/http/limiter.ts",
    find: "      if (at <= now) return;",
    replace: "      if (at <= now + 10_000) return;",
    breaks: ["RateLimit"],
  },
  {
    name: "rate-limit-acquire",
    file: "src/provider/http/limiter.ts",
    find: "      const accountAt = freeAt(account, now);",
    replace: "      const accountAt = Math.min(now, freeAt(account, now));",
    breaks: ["RateLimit"],
  },
  {
    name: "empty-bucket-after-takeover",
    file: "src/controllers/account/handle.ts",
    find: "startsEmpty: true",
    replace: "startsEmpty: false",
    breaks: ["RateLimit"],
  },
  {
    name: "budget-reservation",
    file: "src/submission/reservations.ts",
    find: "return reserved + cost <= budget.headroom ? undefined",
    replace: "return reserved + cost <= budget.headroom + reserved + cost ? undefined",
    breaks: ["Budget"],
  },
  {
    name: "task-failure-retry-limit",
    file: "src/controllers/jobs/observations.ts",
    find: "if (failures <= spec.backoffLimit) return",
    replace: "if (failures <= spec.backoffLimit + 1) return",
    breaks: ["PaidOnce"],
  },
  {
    name: "terminal-phase",
    file: "src/controllers/jobs/states.ts",
    find: '  if (phase === "Succeeded" || phase === "Failed") return { kind: phase };',
    replace: "",
    breaks: ["TerminalPhase", "PaidOnce"],
  },
  {
    name: "hidden-values",
    file: "src/provider/errors.ts",
    find: "  const words = withoutValues(text, hidden);",
    replace: "  const words = withoutValues(text, hidden.slice(0, 0));",
    breaks: ["NoSecret"],
  },
];
