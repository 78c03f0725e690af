import type { Switch } from "../campaign/switches.ts";

/** `drifts`: the service shows other values than it got, so that `Synced=False` is right. */
export type Value = Switch & { drifts?: true };

/** Something that the interface leaves open. */
export type Factor = {
  name: string;
  /** The sentence of the interface that leaves it open, or "not mentioned". */
  interface: string;
  /** The first value is the default of the simulator. */
  values: readonly [Value, ...Value[]];
};
