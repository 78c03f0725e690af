import { request } from "undici";

export type Remote = { create(endpoint: Record<string, unknown>): Promise<string>; url(id: string): Promise<string> };

/** The remote service of the benchmark, over undici's shared connections. */
export function createRemote(baseURL: string): Remote {
  const headers = { authorization: "Bearer k", "content-type": "application/json" };

  const call = async (method: "GET" | "POST", path: string, body?: object): Promise<unknown> => {
    const response = await request(`${baseURL}${path}`, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (response.statusCode !== 200) throw new Error(`${method} ${path}: status ${response.statusCode}`);
    return response.body.json();
  };

  return {
    async create(endpoint) {
      const created = await call("POST", "/gpu-instance/openapi/v1/endpoint/create", { endpoint });
      return (created as { id: string }).id;
    },
    async url(id) {
      const read = await call("GET", `/gpus/v2/endpoints/${id}`);
      return (read as { url: string }).url;
    },
  };
}
