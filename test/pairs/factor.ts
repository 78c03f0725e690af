import type { Switch } from "../faults/campaign/switches.ts";

/** Something that the interface leaves open. */
export type Factor = {
  name: string;
  /** The sentence of the interface that leaves it open, or "not mentioned". */
  interface: string;
  /** The first value is the default of the simulator. */
  values: readonly [Switch, ...Switch[]];
};
