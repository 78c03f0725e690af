import { execFile } from "node:child_process";
import { inject } from "vitest";
import { API_KEY, BUNDLE, type World } from "./world.ts";

export type Ended = { code: number; stdout: string; stderr: string };

/** Runs a program to its end; never throws. */
export function run(file: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(file, args, { env: { ...process.env, ...env }, maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

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
