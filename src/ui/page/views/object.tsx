import { useCallback } from "preact/hooks";
import type { ConditionView, DriftView, MomentView, ObjectView } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { useApp } from "../app-context.ts";
import { Actions } from "../components/actions.tsx";
import { Age } from "../components/age.tsx";
import { Copyable } from "../components/copy.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { Results } from "../components/player.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import type { Changed } from "../live.ts";
import { localTime } from "../time.ts";
import { useResource } from "../use-resource.ts";

type Key = { kind: string; namespace: string; name: string };

/** One object: its state, what a user can do, results, drift, conditions and timeline. */
export function ObjectPage({ object }: { object: Key }) {
  const { live } = useApp();
  const { kind, namespace, name } = object;
  const path = objectPath(object);
  const concerns = useCallback(
    (changed: Changed) =>
      changed?.keys?.includes(`${kind}/${namespace}/${name}`) ?? changed?.kinds.includes(kind) ?? true,
    [kind, namespace, name],
  );
  const { data, error } = useResource<ObjectView>(live, `api/objects/${path}`, concerns);
  return (
    <>
      <h1 tabIndex={-1}>
        {kind} {namespace === "" ? "" : `${namespace}/`}
        {name}
      </h1>
      <ErrorNotice error={error} />
      {data === undefined ? error === undefined && <p>Loading…</p> : <Shown view={data} />}
    </>
  );
}

function Shown({ view }: { view: ObjectView }) {
  const { row, actions, commands, facts, results, drift, conditions, history, eventsMissing } = view;
  return (
    <>
      <p>
        <StateBadge state={row.state} /> {row.reason}, for <Age time={row.since} />
      </p>
      <p>{row.message}</p>
      {row.job?.progressPercent !== undefined && row.state === "Running" && (
        <progress max={100} value={row.job.progressPercent} aria-label="Progress" />
      )}
      <Actions row={row} actions={actions} />
      {commands.map((command) => (
        <Copyable key={command} text={command} label="Command of the message" />
      ))}
      {results.length > 0 && (
        <section aria-labelledby="results">
          <h2 id="results">Results</h2>
          <Results results={results} name={row.name} />
        </section>
      )}
      <section aria-labelledby="facts">
        <h2 id="facts">Overview</h2>
        <dl class="facts">
          {facts.map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </section>
      {row.endpoint !== undefined && <Drift drift={drift} synced={row.endpoint.synced} />}
      <Conditions conditions={conditions} />
      <Timeline history={history} eventsMissing={eventsMissing} />
      <section aria-labelledby="yaml">
        <h2 id="yaml">Spec and status</h2>
        <div class="columns">
          <Copyable text={view.spec} label="spec" />
          <Copyable text={view.status} label="status" />
        </div>
      </section>
    </>
  );
}

function Drift({ drift, synced }: { drift: readonly DriftView[]; synced: string }) {
  return (
    <section aria-labelledby="drift">
      <h2 id="drift">Drift</h2>
      {drift.length === 0 ? (
        <p>{synced === "True" ? "The remote endpoint matches the spec." : "Nothing is known of a difference."}</p>
      ) : (
        <table>
          <caption class="hidden">Fields in which the remote endpoint differs from the spec</caption>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Spec</th>
              <th scope="col">Remote</th>
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
      )}
    </section>
  );
}

function Conditions({ conditions }: { conditions: readonly ConditionView[] }) {
  return (
    <section aria-labelledby="conditions">
      <h2 id="conditions">Conditions</h2>
      <div class="scroll">
        <table>
          <caption class="hidden">Conditions</caption>
          <thead>
            <tr>
              {["Type", "Status", "Reason", "Since", "Message"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {conditions.map(({ type, status, reason, since, message }) => (
              <tr key={type}>
                <th scope="row">{type}</th>
                <td>{status}</td>
                <td>{reason}</td>
                <td>
                  <Age time={since} />
                </td>
                <td class="value">{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

type TimelineProps = { history: readonly MomentView[]; eventsMissing: string | undefined };

function Timeline({ history, eventsMissing }: TimelineProps) {
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      {eventsMissing !== undefined && <p class="notice warn">{eventsMissing}</p>}
      <ol class="timeline">
        {history.map(({ time, what, text }, index) => (
          <li key={index} class={what.toLowerCase()}>
            <time dateTime={time}>{localTime(time)}</time> <strong>{what}</strong> {text}
          </li>
        ))}
      </ol>
    </section>
  );
}
