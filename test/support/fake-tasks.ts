import type { Tasks } from "../../src/provider/types.ts";

/** The tasks of an account, without a poller. `polled`: the tasks that are followed. `change`: what polls show. */
export function fakeTasks(change: Partial<Tasks> = {}): { tasks: Tasks; polled: Set<string> } {
  const polled = new Set<string>();
  const tasks: Tasks = {
    follow: (taskID) => void polled.add(taskID),
    forget: (taskID) => void polled.delete(taskID),
    pollNow: () => {},
    latest: () => undefined,
    failing: () => undefined,
    read: () => Promise.reject(new Error("not read")),
    inFlight: () => polled.size,
    stop: async () => {},
    ...change,
  };
  return { tasks, polled };
}
