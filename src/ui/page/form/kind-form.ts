import type { Draft } from "./draft.ts";

/** What the form of a kind shows first, besides the fields that every object needs. */
export type KindForm = {
  kind: string;
  title: string;
  /** Paths below `spec`. */
  first: readonly string[];
  /** Groups of which an object has exactly one. */
  oneOf?: readonly string[];
  initial: Draft;
  /** What happens when the object is created. */
  effect: string;
};
