const DAY_MS = 86_400_000;

/** A day of the calendar; month 1 to 12. Months and days beyond their range count on, as in Date.UTC. */
export type CalendarDay = { year: number; month: number; day: number };

/** Calendar arithmetic by the clock of one place. Times are Unix seconds. */
export type TimeZone = {
  readonly name: string;
  dayOf(time: number): CalendarDay;
  /** When the day begins; where midnight is skipped by a clock change, the first moment after it. */
  startOf(day: CalendarDay): number;
};

/** A format takes a hundred times longer to make than to use, and every list of endpoints needs one. Names in other cases are names too. */
const MOST_FORMATS = 100;
const formats = new Map<string, Intl.DateTimeFormat>();

/** @param name an IANA name (`Asia/Shanghai`), `UTC`, or an offset (`+08:00`) @throws Error for any other name */
export function timeZone(name: string): TimeZone {
  const format = formatOf(name);

  /** What the place's clock shows, as if it were UTC, ms. */
  function shown(timeMs: number): number {
    const parts = Object.fromEntries(format.formatToParts(timeMs).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  }

  return {
    name,
    dayOf(time) {
      const date = new Date(shown(time * 1000));
      return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
    },
    startOf({ year, month, day }) {
      const midnight = Date.UTC(year, month - 1, day);
      // The two offsets that may hold around the midnight; no zone changes its clock twice in two days.
      const candidates = [midnight - DAY_MS, midnight + DAY_MS].map((near) => midnight - (shown(near) - near));
      const exact = candidates.filter((candidate) => shown(candidate) === midnight);
      return (exact.length > 0 ? Math.min(...exact) : Math.max(...candidates)) / 1000;
    },
  };
}

function formatOf(name: string): Intl.DateTimeFormat {
  const known = formats.get(name);
  if (known !== undefined) return known;
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "iso8601",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    if (formats.size < MOST_FORMATS) formats.set(name, format);
    return format;
  } catch (cause) {
    throw new Error(
      `"${name}" is not a time zone: use UTC, a name such as Asia/Shanghai, or an offset such as +08:00`,
      { cause },
    );
  }
}

/** Days since the Monday of the day's week, 0 to 6. */
export function daysSinceMonday({ year, month, day }: CalendarDay): number {
  return (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
}
