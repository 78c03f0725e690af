import type { ObjectRow } from "../../view-types.ts";
import { Age } from "../components/age.tsx";
import { Message } from "../components/message.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import type { Changed } from "../live.ts";
import type { ListDefinition } from "./list.tsx";

/** Ready workers, and the range that the spec allows. */
function WorkerCount({ row: { endpoint } }: { row: ObjectRow }) {
  if (endpoint === undefined) return null;
  const { min, max, ready = 0, total = 0 } = endpoint.workers;
  const text = `${ready} of ${total} workers ready, the spec allows ${min} to ${max}`;
  return (
    <span class="workers">
      <meter min={0} max={Math.max(1, max, total)} value={ready} aria-label={text} title={text} />
      {ready}/{total} <span class="quiet">({`${min}–${max}`})</span>
    </span>
  );
}

function DriftCount({ row: { endpoint } }: { row: ObjectRow }) {
  const { drift = 0, synced = "" } = endpoint ?? {};
  if (drift > 0) return <span class="badge warn">{drift === 1 ? "1 field" : `${drift} fields`}</span>;
  return <span class="quiet">{synced === "True" ? "none" : "unknown"}</span>;
}

export const endpointList: ListDefinition = {
  title: "Endpoints",
  view: "endpoints",
  sort: "attention",
  order: "asc",
  concerns: (changed: Changed) => changed?.kinds.includes("GpuEndpoint") ?? true,
  columns: [
    { title: "Namespace", sort: "namespace", cell: ({ namespace }) => namespace },
    { title: "State", sort: "state", cell: ({ state }) => <StateBadge state={state} /> },
    { title: "At the service", cell: ({ endpoint }) => endpoint?.remoteState || "-" },
    { title: "Workers", sort: "workers", cell: (row) => <WorkerCount row={row} /> },
    { title: "Drift", cell: (row) => <DriftCount row={row} /> },
    { title: "Image", cell: ({ endpoint }) => <span class="image">{endpoint?.image}</span> },
    { title: "Age", sort: "created", cell: ({ created }) => <Age time={created} /> },
    { title: "Message", cell: ({ message }) => <Message text={message} /> },
  ],
};
