import { timeZone } from "../../provider/money/time-zone.ts";
import { dayName } from "./split.ts";

/** The day of a time (ms since the epoch) by the clock of the bills. An unknown time zone counts as UTC. */
export function billDay(zoneName: string, timeMs: number): string {
  const time = Math.floor(timeMs / 1000);
  try {
    return dayName(timeZone(zoneName).dayOf(time));
  } catch {
    return dayName(timeZone("UTC").dayOf(time));
  }
}
