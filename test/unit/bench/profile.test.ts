import { expect, it } from "vitest";
import { secondsByArea } from "../../../bench/profile.ts";

const frame = (functionName: string, url = "") => ({ functionName, url, lineNumber: 0, columnNumber: 0 });

it("the time of a builtin counts for its caller, and idle time and what comes after the drain do not count", async () => {
  const nodes = [
    { id: 1, callFrame: frame("(root)"), children: [2, 3, 4] },
    { id: 2, callFrame: frame("(idle)") },
    { id: 3, callFrame: frame("(garbage collector)") },
    { id: 4, callFrame: frame("onread", "node:net"), children: [5] },
    { id: 5, callFrame: frame("parse") },
  ];
  const seconds = await secondsByArea({ nodes, samples: [2, 3, 4, 5, 4], timeDeltas: [1e6, 2e6, 3e6, 4e6, 5e6] }, 10);
  expect([...seconds]).toEqual([
    ["garbage collection", 2],
    ["Node: sockets, TLS, streams", 7],
  ]);
});

it("a file that was not bundled is its own source", async () => {
  const nodes = [{ id: 1, callFrame: frame("begin", "file:///folder-without-maps/start.mjs") }];
  const seconds = await secondsByArea({ nodes, samples: [1], timeDeltas: [1e6] }, 1);
  expect([...seconds]).toEqual([["our code: other", 1]]);
});
