import type * as z from "zod";
import type { Resource } from "../../kube/resource.ts";
import type { TransitionRule } from "./rule.ts";

/** A column of `kubectl get`. */
export type Column = {
  name: string;
  type: "string" | "integer" | "date";
  jsonPath: string;
  /** Shown with `-o wide` only. */
  wide?: boolean;
};

/** Everything that a CRD has about a kind. */
export type KindDefinition = {
  resource: Resource;
  /** What `kubectl explain` shows first. */
  description: string;
  /** The kind in lower case. */
  singular: string;
  shortNames: readonly string[];
  columns: readonly Column[];
  spec: z.ZodType;
  status: z.ZodType;
  /** Rules on the whole object. Default: none. */
  rules?: readonly TransitionRule[];
  scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath: string };
};

export function conditionColumn(name: string, type: string, part: "status" | "reason"): Column {
  return { name, type: "string", jsonPath: `.status.conditions[?(@.type=="${type}")].${part}` };
}

export const AGE: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
