import * as z from "zod";
import type { RouteTable } from "../dispatch.ts";
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
    handle: ({ query, baseURL }) => {
      const { task_id } = checked(taskQuery, query, service.config().unknownFields);
      return { body: viewTask(service.tasks.get(task_id), service.now(), baseURL) };
    },
  });
}
