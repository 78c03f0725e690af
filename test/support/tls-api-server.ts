import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createProxyServer, type IncomingHttpHeaders } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { type Authority, createAuthority } from "./certificates.ts";

export type TlsRequest = {
  authorization: string | undefined;
  /** Common name of the client certificate. */
  subject: string | undefined;
  headers: IncomingHttpHeaders;
  /** Header names and values as they came, repeated ones apart. */
  rawHeaders: string[];
  watch: boolean;
  /** Which connection it came over: 1 is the first. */
  connection: number;
};

export type TlsApi = {
  port: number;
  /** https://127.0.0.1:PORT, which the certificate is good for, as for `api.test`. */
  url: string;
  requests: TlsRequest[];
};

/** The caller removes it. */
export const temporaryFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "mooring-test-"));

/** An authority for the tests of one file. Call it at the top of the file. */
export async function authorityOfFile(): Promise<Authority> {
  const folder = await temporaryFolder();
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return createAuthority(folder);
}

/** A real HTTPS server that answers with the status that `answer` gives; a watch stays open. Ends with the test. */
export async function tlsApi(
  authority: Authority,
  answer: (request: TlsRequest) => number = () => 200,
): Promise<TlsApi> {
  const requests: TlsRequest[] = [];
  const connections = new Map<TLSSocket, number>();
  const own = await authority.issue("api", ["DNS:api.test", "IP:127.0.0.1"]);
  const options = { ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: false };
  const server = createServer(options, (incoming, response) => {
    const socket = incoming.socket as TLSSocket;
    const request: TlsRequest = {
      authorization: incoming.headers.authorization,
      subject: socket.getPeerCertificate().subject?.CN?.toString(),
      headers: incoming.headers,
      rawHeaders: incoming.rawHeaders,
      watch: (incoming.url ?? "").includes("watch=true"),
      connection: connections.get(socket) ?? 0,
    };
    requests.push(request);
    incoming.resume().on("end", () => {
      const status = answer(request);
      response.writeHead(status, { "content-type": "application/json" });
      if (request.watch && status === 200) return void response.write('{"type":"BOOKMARK","object":{}}\n');
      response.end(JSON.stringify(status === 200 ? { metadata: {} } : { kind: "Status", code: status, message: "no" }));
    });
  });
  server.on("secureConnection", (socket) => connections.set(socket, connections.size + 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `https://127.0.0.1:${port}`, requests };
}

/** An HTTP proxy that tunnels every CONNECT to 127.0.0.1, whatever the name; ends with the test. */
export async function connectProxy(): Promise<{
  url: string;
  tunnels: { to: string; authorization: string | undefined }[];
}> {
  const tunnels: { to: string; authorization: string | undefined }[] = [];
  const server = createProxyServer((_request, response) => response.writeHead(405).end());
  server.on("connect", (request, client, head) => {
    tunnels.push({ to: request.url ?? "", authorization: request.headers["proxy-authorization"] });
    const upstream = connect(Number((request.url ?? "").split(":").at(-1)), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on("error", () => client.destroy());
    client.on("error", () => upstream.destroy());
    client.on("close", () => upstream.destroy());
    onTestFinished(() => void client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tunnels };
}

/** A kubeconfig of one cluster and one user in `folder`. @returns its path */
export async function kubeconfigIn(folder: string, cluster: object, user: object = {}): Promise<string> {
  const path = join(folder, "kubeconfig");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "team" } }],
    "current-context": "x",
  };
  await writeFile(path, stringify(config));
  return path;
}
