import type { FastifyInstance } from "fastify";
import { taskResultQuery } from "../../provider/wire/tasks.ts";
import { serve } from "../dispatch.ts";
import type { Service } from "../service.ts";
import { viewTask } from "../tasks.ts";
import { checked } from "../validate.ts";

/** The result of an asynchronous task. */
export function taskRoutes(app: FastifyInstance, service: Service): void {
  serve(app, service, {
    method: "GET",
    path: "/v3/async/task-result",
    operation: "getTaskResult",
    handle: ({ query, baseURL }) => {
      const { task_id } = checked(taskResultQuery, query, service.config().unknownFields);
      return { body: viewTask(service.tasks.look(task_id), service.now(), baseURL) };
    },
  });
}
