import type { HaltView, ObjectRow } from "../../view-types.ts";
import { Copyable } from "../components/copy.tsx";
import { Prose } from "../components/prose.tsx";
import { localTime } from "../time.ts";

/** What helps to decide about a halted job: when its request was sent, what it asked for, and how to find it in the bills. */
export function Halted({ halt, row }: { halt: HaltView; row: ObjectRow }) {
  const { outcome, requestTime, attempt, operation, quantity, sameDay, command } = halt;
  const unknown = row.reason === "SubmissionUnknown";
  return (
    <section class="card wa-danger decide" aria-labelledby="decide">
      <h2 id="decide">Is the request on the bill?</h2>
      <p class="value">
        <Prose text={outcome} />.{" "}
        {unknown
          ? "Look at the bills of that day, then choose."
          : "The service charges it. If the result is in its records, attach its task; otherwise a new request is paid for again."}
      </p>
      <dl class="facts">
        <Fact label="Sent" value={`${localTime(requestTime)}, attempt ${attempt}`} />
        <Fact label="Operation" value={operation} />
        {quantity !== undefined && <Fact label="Asked for" value={quantity} />}
        <Fact
          label={`Accepted on ${requestTime.slice(0, 10)}`}
          value={`${sameDay.toLocaleString()} ${sameDay === 1 ? "such request" : "such requests"}`}
        />
      </dl>
      <p class="quiet">
        The service bills by day. If its bill has more requests than {sameDay.toLocaleString()}, and nobody else used
        the key, this request is on it. This command reads the bill:
      </p>
      <Copyable text={command} label="Command that shows the bills" />
    </section>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
}
