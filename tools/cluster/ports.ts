import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/**
 * `count` different TCP ports of 127.0.0.1 that were free a moment ago. Another process may take one before it is used: whoever
 * listens on them has to be ready to start over with others.
 */
export async function freePorts(count: number): Promise<number[]> {
  // All are held open together, so that no port is handed out twice.
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}
