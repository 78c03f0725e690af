import { BlockList, isIP } from "node:net";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment names for a server: HTTPS_PROXY for https, HTTP_PROXY for http, unless NO_PROXY names
 * the host (upper case first, as in Go's httpproxy). Loopback addresses and `localhost` are never proxied.
 * @param proxyURL kubeconfig's `proxy-url`: it wins, and NO_PROXY does not apply to it
 * @returns an absolute URL, or undefined for a direct connection
 * @throws Error when the proxy is no http, https or socks5 URL
 */
export function proxyFor(server: URL, env: Environment, proxyURL?: string): string | undefined {
  if (proxyURL !== undefined) return parseProxy("proxy-url", proxyURL);
  const variable = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = either(env, variable);
  if (proxy === undefined) return undefined;
  const port = Number(server.port) || (server.protocol === "https:" ? 443 : 80);
  if (isExempt(hostOf(server), port, either(env, "NO_PROXY") ?? "")) return undefined;
  return parseProxy(variable, proxy);
}

const either = (env: Environment, name: string): string | undefined =>
  env[name] || env[name.toLowerCase()] || undefined;
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").toLowerCase();

function parseProxy(name: string, text: string): string {
  const full = /^[a-z0-9+.-]+:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || !["http:", "https:", "socks5:"].includes(url.protocol) || url.hostname === "") {
    // Not the text itself: it may carry a password.
    throw new Error(
      `${name}: expected http://, https:// or socks5:// HOST:PORT${url ? `, not ${url.protocol}//` : ""}`,
    );
  }
  return url.href;
}

/**
 * NO_PROXY: `*`, an address, a CIDR block, `example.com` (and below), `.example.com` or `*.example.com` (below only);
 * an address or a name may end in `:PORT`.
 */
function isExempt(host: string, port: number, noProxy: string): boolean {
  const family = isIP(host);
  if (host === "localhost" || host === "::1" || (family === 4 && inBlock(host, family, "127.0.0.0", 8))) return true;
  return noProxy
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .some((entry) => entry === "*" || matches(entry, host, family, port));
}

function matches(entry: string, host: string, family: number, port: number): boolean {
  const [, address = "", bits] = /^(.+)\/(\d+)$/.exec(entry) ?? [];
  if (bits !== undefined) return family !== 0 && inBlock(host, family, address, Number(bits));
  const withPort = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(entry);
  if (withPort !== null && Number(withPort[3]) !== port) return false;
  const name = (withPort?.[1] ?? withPort?.[2] ?? entry).replace(/^\[|\]$/g, "");
  if (name === "") return false;
  const nameFamily = isIP(name);
  if (nameFamily !== 0) return family !== 0 && inBlock(host, family, name, nameFamily === 6 ? 128 : 32);
  const suffix = name.replace(/^\*(?=\.)/, "");
  return suffix.startsWith(".") ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`);
}

function inBlock(host: string, family: number, address: string, bits: number): boolean {
  const kind = isIP(address);
  if (kind === 0 || bits > (kind === 6 ? 128 : 32)) return false;
  const block = new BlockList();
  block.addSubnet(address, bits, kind === 6 ? "ipv6" : "ipv4");
  return block.check(host, family === 6 ? "ipv6" : "ipv4");
}
