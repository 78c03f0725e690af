import { Age } from "../components/age.tsx";
import { Message } from "../components/message.tsx";
import { StateBadge } from "../components/state-badge.tsx";
import type { ListDefinition } from "./list.tsx";

export const objectList: ListDefinition = {
  title: "All objects",
  view: "all",
  sort: "attention",
  order: "asc",
  concerns: () => true,
  columns: [
    { title: "Namespace", sort: "namespace", cell: ({ namespace }) => namespace || "-" },
    { title: "Kind", sort: "kind", cell: ({ kind }) => kind },
    { title: "State", sort: "state", cell: ({ state }) => <StateBadge state={state} /> },
    { title: "Reason", cell: ({ reason }) => reason },
    { title: "Age", sort: "created", cell: ({ created }) => <Age time={created} /> },
    { title: "Message", cell: ({ message }) => <Message text={message} /> },
  ],
};
