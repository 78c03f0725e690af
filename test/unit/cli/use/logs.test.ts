import { expect, it } from "vitest";
import { logsOf, text } from "../../../../src/cli/use/logs.ts";
import { fromCurrent, fromEarlier } from "../../../../src/provider/endpoints/endpoint-record.ts";

const shown = (record: ReturnType<typeof fromCurrent>) => text(logsOf({ endpoint: "GpuEndpoint team/echo", record }));

it("shows the workers of the current generation, with their logs and problems", () => {
  const record = fromCurrent({
    id: "ep-1",
    status: { status: "running", error: "", message: "" },
    workers: [
      { id: "w-1", status: { status: "ready" }, log: "https://logs.example.com/w-1", health: true, drain: false },
      {
        id: "w-2",
        status: { status: "error", error: "OOM", message: "killed\u001b[2J" },
        log: "",
        health: false,
        drain: true,
      },
    ],
  });
  expect(shown(record).split("\n")).toEqual([
    "GpuEndpoint team/echo (ep-1): running",
    "WORKER   STATE   HEALTHY   DRAINING   LOG                            PROBLEM",
    "w-1      ready   yes       no         https://logs.example.com/w-1",
    "w-2      error   no        yes        -                              OOM: killed[2J",
    "",
  ]);
});

it("shows the log of the endpoint, which the earlier generation has, and that no worker runs", () => {
  const record = fromEarlier({ id: "ep-1", state: { state: "serving" }, log: "https://logs.example.com/ep-1" });
  expect(shown(record)).toBe(
    "GpuEndpoint team/echo (ep-1): serving\nLog of the endpoint: https://logs.example.com/ep-1\nno worker runs\n",
  );
});
