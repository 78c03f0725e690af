import * as z from "zod";
import type { RouteTable } from "../dispatch.ts";
import { membersSeenBy } from "../keys.ts";
import type { Service } from "../service.ts";
import { viewTask } from "../tasks.ts";
import { checked } from "../validate.ts";

const taskQuery = z.strictObject({ task_id: z.string() });

/** Serves the results of asynchronous tasks. */
export function taskRoutes(routes: RouteTable, service: Service): void {
  routes.add({
    method: "GET",
    path: "/v3/async/task-result",
    operation: "getTaskResult",
    whenNull: { body: null },
    handle: ({ query, key, baseURL }) => {
      const { unknownFields, keySeesTasks } = service.config();
      const { task_id } = checked(taskQuery, query, unknownFields);
      const task = service.tasks.get(task_id, membersSeenBy(key, keySeesTasks));
      return { body: viewTask(task, { now: service.now(), baseURL, config: service.config() }) };
    },
  });
}
