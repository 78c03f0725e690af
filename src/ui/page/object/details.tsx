import type { ConditionView, DriftView } from "../../view-types.ts";
import { Age } from "../components/age.tsx";
import { Copyable } from "../components/copy.tsx";
import { Prose } from "../components/prose.tsx";

/** The fields in which the service differs from the spec. */
export function Drift({ drift, synced }: { drift: readonly DriftView[]; synced: string }) {
  if (drift.length === 0) {
    return <p>{synced === "True" ? "The remote endpoint matches the spec." : "Nothing is known of a difference."}</p>;
  }
  return (
    <div class="scroll">
      <table aria-label="Fields in which the remote endpoint differs from the spec">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Spec</th>
            <th scope="col">Service</th>
          </tr>
        </thead>
        <tbody>
          {drift.map(({ field, desired = "-", observed = "-" }) => (
            <tr key={field}>
              <th scope="row">{field}</th>
              <td class="value">{desired}</td>
              <td class="value">{observed}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Status({ conditions, status }: { conditions: readonly ConditionView[]; status: string }) {
  return (
    <>
      <ul class="conditions">
        {conditions.map(({ type, status: value, reason, since, message }) => (
          <li key={type}>
            <strong>
              {type}={value}
            </strong>{" "}
            {reason}, for <Age time={since} />
            <div class="quiet value">
              <Prose text={message} />
            </div>
          </li>
        ))}
      </ul>
      <Copyable text={status} label="status" />
    </>
  );
}
