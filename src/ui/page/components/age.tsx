import { useEffect, useState } from "preact/hooks";
import { age, localTime } from "../time.ts";

/** How long ago; the exact time is in the tooltip. */
export function Age({ time }: { time: string }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 10_000);
    return () => window.clearInterval(timer);
  }, []);
  return (
    <time dateTime={time} title={localTime(time)}>
      {age(time, Math.max(now, Date.now()))}
    </time>
  );
}
