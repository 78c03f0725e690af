import { inject } from "vitest";
import { run } from "./run.ts";
import { API_KEY, BUNDLE, type World } from "./world.ts";

/** kubectl and the bundle, in the world's namespace. */
export function tools(world: World) {
  const place = ["--kubeconfig", inject("kubeconfig"), "--namespace", world.namespace];
  return {
    mooring: (command: string, ...args: string[]) => run(process.execPath, [BUNDLE, command, ...place, ...args]),
    kubectl: (...args: string[]) => run(inject("kubectl"), [...place, ...args]),
  };
}

async function post(world: World, path: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(`${world.simulator.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** An endpoint as somebody makes it who does not know of Mooring. Returns its id. */
export const createByHand = (world: World, endpoint: unknown): Promise<string> =>
  post(world, "/gpu-instance/openapi/v1/endpoint/create", { endpoint }).then(({ id }) => String(id));
