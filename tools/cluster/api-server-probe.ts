import { request } from "node:https";

/** Where an API server answers, and who asks. `ca` is PEM. */
export type ApiServerAccess = { port: number; ca: string; token: string };

/** The HTTP status of a GET of `path`, or undefined while nobody answers (no connection, or none within 5 s). */
export function probe(access: ApiServerAccess, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const get = request(
      {
        host: "127.0.0.1",
        port: access.port,
        path,
        ca: access.ca,
        headers: { authorization: `Bearer ${access.token}` },
        agent: false,
        timeout: 5_000,
      },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    get.on("timeout", () => get.destroy());
    get.on("error", () => resolve(undefined));
    get.on("close", () => resolve(undefined));
    get.end();
  });
}
