import { ExternalLink } from "lucide";
import type { WorkerView } from "../../view-types.ts";
import { Icon } from "../components/icon.tsx";

/** The workers of an endpoint with their states and logs. */
export function Workers({ workers }: { workers: readonly WorkerView[] }) {
  return (
    <section class="card" aria-labelledby="workers">
      <h2 id="workers">Workers</h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Worker</th>
              <th scope="col">State</th>
              <th scope="col">Health</th>
              <th scope="col">Log</th>
            </tr>
          </thead>
          <tbody>
            {workers.map(({ id, status, problem, healthy, draining, log }) => (
              <tr key={id}>
                <th scope="row" class="value">
                  {id}
                </th>
                <td>
                  {status}
                  {draining && ", draining"}
                  {problem !== "" && <div class="quiet value">{problem}</div>}
                </td>
                <td>{healthy === undefined ? "not shown" : healthy ? "healthy" : "unhealthy"}</td>
                <td>
                  {log !== undefined && (
                    <a href={log} target="_blank" rel="noopener noreferrer">
                      Log <Icon icon={ExternalLink} />
                    </a>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
