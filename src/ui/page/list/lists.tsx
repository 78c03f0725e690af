import type { ObjectRow } from "../../view-types.ts";
import type { Changed } from "../live.ts";
import { ageColumn, costColumn, stateColumn, TwoLines } from "./cells.tsx";
import type { ListDefinition } from "./definition.ts";

const concernsKind = (kind: string) => (changed: Changed) => changed?.kinds.includes(kind) ?? true;

export const jobList: ListDefinition = {
  title: "Jobs",
  view: "jobs",
  create: { label: "New job", path: "new/SpeechJob" },
  none: "There are no jobs.",
  empty: "A SpeechJob speaks a text, a VideoJob makes a video.",
  concerns: () => true,
  columns: [
    stateColumn,
    {
      id: "voice",
      title: "Voice",
      cell: ({ job }) => <TwoLines first={job?.voice} second={job?.model} />,
      isEmpty: ({ job }) => job === undefined || (job.voice === "" && job.model === ""),
    },
    {
      id: "duration",
      title: "Duration",
      cell: ({ job }) => job?.duration,
      isEmpty: ({ job }) => job?.duration === undefined,
    },
    costColumn,
    ageColumn,
  ],
};

/** Ready workers, and the range that the spec allows. */
function WorkerCount({ row: { endpoint, state } }: { row: ObjectRow }) {
  if (endpoint === undefined) return null;
  const { min, max, ready = 0, total = 0 } = endpoint.workers;
  if (state === "Suspended") return <span class="quiet">none</span>;
  const text = `${ready} of ${total} workers ready, the spec allows ${min} to ${max}`;
  return (
    <TwoLines
      first={
        <>
          <meter min={0} max={Math.max(1, max, total)} value={ready} aria-label={text} title={text} /> {ready}/{total}
        </>
      }
      second={`${min}–${max}`}
    />
  );
}

export const endpointList: ListDefinition = {
  title: "Endpoints",
  view: "endpoints",
  create: { label: "New endpoint", path: "new/GpuEndpoint" },
  none: "There are no endpoints.",
  empty: "A GpuEndpoint runs an image on GPU workers.",
  concerns: concernsKind("GpuEndpoint"),
  columns: [
    stateColumn,
    { id: "workers", title: "Workers", sort: "workers", cell: (row) => <WorkerCount row={row} /> },
    { ...costColumn, title: "This month" },
    ageColumn,
  ],
};

export const attentionList: ListDefinition = {
  title: "Needs you",
  view: "attention",
  none: "Nothing needs you.",
  empty: "Halted and Stalled objects are here: they do not continue before you act.",
  concerns: () => true,
  columns: [stateColumn, { id: "kind", title: "Kind", sort: "kind", cell: ({ kind }) => kind }, ageColumn],
};

export const objectList: ListDefinition = {
  title: "All objects",
  view: "all",
  none: "There are no objects.",
  empty: "Jobs, endpoints, accounts, stores and reports of bills are here.",
  concerns: () => true,
  columns: [stateColumn, { id: "kind", title: "Kind", sort: "kind", cell: ({ kind }) => kind }, ageColumn],
};
