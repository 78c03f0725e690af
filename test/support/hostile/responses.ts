/** Bodies that a hostile service sends instead of what was asked for. Each is made as it is sent, so the service needs no memory. */
export type HostileResponse = {
  name: string;
  /** The body in pieces, for a page that begins at `cursor` ("" is the first). */
  body: (cursor: string) => Iterable<string>;
};

const MIB = 1024 * 1024;

function* repeated(before: string, piece: string, count: number, after: string): Iterable<string> {
  yield before;
  const at1 = Math.max(1, Math.floor((64 * 1024) / piece.length));
  for (let left = count; left > 0; left -= at1) yield piece.repeat(Math.min(at1, left));
  yield after;
}

const endpoint = (id: string, extra = "") =>
  `{"id":"${id}","name":"n","app_name":"app-${id}","image":"i","status":{"status":"running"}${extra}}`;

/** 1,000 endpoints of a page, none of which any other page has. */
function* page(cursor: string, size: number, extra = ""): Iterable<string> {
  const number = cursor === "" ? 0 : Number(cursor);
  yield '{"data":[';
  for (let index = 0; index < size; index++) yield `${index === 0 ? "" : ","}${endpoint(`p${number}-${index}`, extra)}`;
  yield `],"has_more":true,"next_cursor":"${number + 1}"}`;
}

/** A list of endpoints, and what is wrong with it. */
export const HOSTILE_LISTS: readonly HostileResponse[] = [
  {
    name: "1,000,000 endpoints in one page",
    body: () => repeated('{"data":[', '{"id":"e"},', 1_000_000, '{"id":"e"}]}'),
  },
  {
    name: "9,999 endpoints in one page",
    body: () => repeated('{"data":[', `${endpoint("e")},`, 9_998, `${endpoint("e")}]}`),
  },
  { name: "15 MiB of empty objects", body: () => repeated('{"data":[', "{},", 5 * MIB, "{}]}") },
  { name: "15 MiB of names beside the list", body: () => names('{"data":[],"a":{', 1_000_000) },
  { name: "a record of 1,000,000 names", body: () => names('{"data":[{"id":"e","a":{', 1_000_000) },
  {
    name: "a record with 1,000,000 workers",
    body: () => repeated('{"data":[{"id":"e","workers":[', "{},", 1_000_000, "{}]}]}"),
  },
  {
    name: "a text of 15 MiB",
    body: () => repeated('{"data":[{"id":"e","name":"', "x".repeat(1024), 15 * 1024, '"}]}'),
  },
  { name: "200 MiB", body: () => repeated('{"data":[', `${endpoint("e")},`, 3 * MIB, "{}]}") },
  { name: "100,000 levels", body: () => repeated('{"data":[', "[", 100_000, "") },
  { name: "pages without an end", body: (cursor) => page(cursor, 1_000) },
  { name: "empty pages without an end", body: (cursor) => page(cursor, 0) },
  { name: "large pages without an end", body: (cursor) => page(cursor, 500, `,"command":"${"c".repeat(20_000)}"`) },
];

/** The same content as the earlier generation, bills and tasks spell it. */
export const HOSTILE_BILLS: readonly HostileResponse[] = [
  { name: "1,000,000 bills", body: () => repeated('{"bills":[', '{"amount":"1"},', 1_000_000, "{}]}") },
  {
    name: "30 MiB of bills",
    body: () => repeated('{"bills":[', `{"amount":"1","productName":"${"p".repeat(700)}"},`, 43_000, "{}]}"),
  },
];

export const HOSTILE_TASKS: readonly HostileResponse[] = [
  {
    name: "1,000,000 videos",
    body: () => repeated('{"task":{"task_id":"t","status":"S"},"videos":[', '{"video_url":"u"},', 1_000_000, "{}]}"),
  },
  {
    name: "3 MiB of a reason",
    body: () => repeated('{"task":{"status":"TASK_STATUS_FAILED","reason":"', "\u202e".repeat(1024), 1024, '"}}'),
  },
];

function* names(before: string, count: number): Iterable<string> {
  yield before;
  for (let index = 0; index < count; index += 1_000) {
    yield Array.from({ length: 1_000 }, (_, one) => `"k${index + one}":1,`).join("");
  }
  yield '"z":1}}]}';
}
