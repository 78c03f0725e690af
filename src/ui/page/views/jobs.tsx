import type { ObjectRow } from "../../view-types.ts";
import { Age } from "../components/age.tsx";
import { Message } from "../components/message.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import type { ListDefinition } from "./list.tsx";

const ENDED = ["Succeeded", "Failed", "Halted"];

function Progress({ row: { job, name } }: { row: ObjectRow }) {
  if (job?.progressPercent === undefined || ENDED.includes(job.phase)) return <span class="quiet">-</span>;
  return (
    <span class="progress">
      <progress max={100} value={job.progressPercent} aria-label={`Progress of ${name}`} /> {job.progressPercent}%
      {job.etaSeconds !== undefined && <span class="quiet"> {job.etaSeconds}s left</span>}
    </span>
  );
}

export const jobList: ListDefinition = {
  title: "Jobs",
  view: "jobs",
  sort: "created",
  order: "desc",
  concerns: () => true,
  columns: [
    { title: "Namespace", sort: "namespace", cell: ({ namespace }) => namespace },
    { title: "Kind", sort: "kind", cell: ({ kind }) => kind },
    { title: "Phase", sort: "state", cell: ({ state }) => <StateBadge state={state} /> },
    { title: "Progress", sort: "progress", cell: (row) => <Progress row={row} /> },
    { title: "Model", cell: ({ job }) => job?.model },
    { title: "Results", cell: ({ job }) => job?.results ?? 0 },
    { title: "Duration", cell: ({ job }) => job?.duration ?? "-" },
    { title: "Age", sort: "created", cell: ({ created }) => <Age time={created} /> },
    { title: "Message", cell: ({ message }) => <Message text={message} /> },
  ],
};
