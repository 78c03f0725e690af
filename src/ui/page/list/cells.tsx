import type { ComponentChildren } from "preact";
import type { ObjectRow } from "../../view-types.ts";
import { objectPath } from "../api.ts";
import { Age } from "../components/age.tsx";
import { Middle } from "../components/middle.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import type { ListColumn } from "./definition.ts";

/** States that need no explanation beside them. */
const PLAIN = ["Ready", "Succeeded"];

/** A cell of two lines. */
export function TwoLines({ first, second }: { first: ComponentChildren; second: ComponentChildren }) {
  return (
    <>
      <div class="line">{first}</div>
      <div class="line quiet">{second}</div>
    </>
  );
}

/** Name and namespace, and below them what the object is about. */
export function NameCell({ row }: { row: ObjectRow }) {
  const { name, namespace, about, kind, endpoint } = row;
  return (
    <TwoLines
      first={
        <>
          <a href={`#/objects/${objectPath(row)}`} aria-label={name}>
            <Middle text={name} />
          </a>
          {namespace !== "" && <span class="quiet">{namespace}</span>}
        </>
      }
      second={endpoint === undefined ? about || kind : <Middle text={about} />}
    />
  );
}

export function Progress({ row: { job, name } }: { row: ObjectRow }) {
  const { progressPercent = 0, etaSeconds } = job ?? {};
  return (
    <span class="progress">
      <progress max={100} value={progressPercent} aria-label={`Progress of ${name}`} /> {progressPercent}%
      {etaSeconds !== undefined && ` · ${etaSeconds} s left`}
    </span>
  );
}

/** The state, and below it the progress or why it is so. */
function StateCell({ row }: { row: ObjectRow }) {
  const { state, reason, message, about, job, endpoint } = row;
  const drift = endpoint?.drift ?? 0;
  const runs = job?.progressPercent !== undefined && state === "Running";
  // What a batch has done is said once, below its name.
  const rest = about !== "" && message.startsWith(about) ? message.slice(about.length).replace(/^\W+/, "") : message;
  const why = PLAIN.includes(state) ? "" : rest || reason;
  return (
    <TwoLines
      first={
        <>
          <StateBadge state={state} />
          {drift > 0 && (
            <span class="badge wa-warning">{drift === 1 ? "1 field drifts" : `${drift} fields drift`}</span>
          )}
        </>
      }
      second={runs ? <Progress row={row} /> : <span title={why}>{why}</span>}
    />
  );
}

/** Yuan with at most four decimals, as the service bills. */
function Cost({ row: { cost } }: { row: ObjectRow }) {
  return <>{cost === undefined ? "" : `¥${cost}`}</>;
}

export const stateColumn: ListColumn = {
  id: "state",
  title: "State",
  sort: "state",
  cell: (row) => <StateCell row={row} />,
};
export const ageColumn: ListColumn = {
  id: "age",
  title: "Age",
  sort: "created",
  cell: ({ created }) => <Age time={created} />,
};
export const costColumn: ListColumn = {
  id: "cost",
  title: "Cost",
  sort: "cost",
  cell: (row) => <Cost row={row} />,
  isEmpty: ({ cost }) => cost === undefined,
};
