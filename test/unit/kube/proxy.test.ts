import { describe, expect, it } from "vitest";
import { proxyFor } from "../../../src/kube/proxy.ts";

const PROXY = "http://proxy.test:3128/";
const proxied = (server: string, env: Record<string, string>, proxyURL?: string) =>
  proxyFor(new URL(server), env, proxyURL);

describe("the proxy of a server", () => {
  it.each<[string, string, Record<string, string>, string | undefined]>([
    ["https", "https://api.test", { HTTPS_PROXY: PROXY, HTTP_PROXY: "http://other" }, PROXY],
    ["http", "http://api.test", { HTTPS_PROXY: "http://other", HTTP_PROXY: PROXY }, PROXY],
    ["lower case", "https://api.test", { https_proxy: PROXY }, PROXY],
    ["upper case first", "https://api.test", { https_proxy: "http://other", HTTPS_PROXY: PROXY }, PROXY],
    ["empty is unset", "https://api.test", { HTTPS_PROXY: "", https_proxy: PROXY }, PROXY],
    ["another protocol's is not used", "https://api.test", { HTTP_PROXY: PROXY }, undefined],
    ["none", "https://api.test", {}, undefined],
    ["without its protocol", "https://api.test", { HTTPS_PROXY: "proxy.test:3128" }, PROXY],
    ["with a password", "https://api.test", { HTTPS_PROXY: "http://u:p@proxy.test" }, "http://u:p@proxy.test/"],
    ["SOCKS", "https://api.test", { HTTPS_PROXY: "socks5://proxy.test:1080" }, "socks5://proxy.test:1080"],
  ])("%s", (_name, server, env, expected) => {
    expect(proxied(server, env)).toBe(expected);
  });

  // The rules and most of the cases of golang.org/x/net/http/httpproxy.
  it.each<{ server: string; noProxy: string; expected: boolean }>([
    { server: "https://localhost:6443", noProxy: "", expected: false },
    { server: "https://127.0.0.1:6443", noProxy: "", expected: false },
    { server: "https://127.8.0.1", noProxy: "", expected: false },
    { server: "https://[::1]:6443", noProxy: "", expected: false },
    { server: "https://10.0.0.1", noProxy: "", expected: true },
    { server: "https://api.test", noProxy: "*", expected: false },
    { server: "https://api.test", noProxy: "foo.test, api.test", expected: false },
    { server: "https://API.test", noProxy: "api.TEST", expected: false },
    { server: "https://a.api.test", noProxy: "api.test", expected: false },
    { server: "https://myapi.test", noProxy: "api.test", expected: true },
    { server: "https://api.test", noProxy: ".api.test", expected: true },
    { server: "https://a.api.test", noProxy: ".api.test", expected: false },
    { server: "https://api.test", noProxy: "*.api.test", expected: true },
    { server: "https://a.api.test", noProxy: "*.api.test", expected: false },
    { server: "https://api.test", noProxy: "api.test:443", expected: false },
    { server: "https://api.test:6443", noProxy: "api.test:443", expected: true },
    { server: "https://api.test:6443", noProxy: "api.test:6443", expected: false },
    { server: "https://10.1.2.3", noProxy: "10.0.0.0/8", expected: false },
    { server: "https://11.1.2.3", noProxy: "10.0.0.0/8", expected: true },
    { server: "https://api.test", noProxy: "10.0.0.0/8", expected: true },
    { server: "https://10.1.2.3:6443", noProxy: "10.1.2.3", expected: false },
    { server: "https://10.1.2.3:6443", noProxy: "10.1.2.3:6443", expected: false },
    { server: "https://10.1.2.3:6443", noProxy: "10.1.2.3:443", expected: true },
    { server: "https://10.1.2.4", noProxy: "10.1.2.3", expected: true },
    { server: "https://[fd00::5]", noProxy: "fd00::/8", expected: false },
    { server: "https://[fd00::5]", noProxy: "fd00::5", expected: false },
    { server: "https://[fd00::5]:6443", noProxy: "[fd00::5]:6443", expected: false },
    { server: "https://[fd00::5]", noProxy: "[fd00::5]:6443", expected: true },
    { server: "https://10.1.2.3", noProxy: "10.0.0.0/99,,/8,:443", expected: true },
  ])("$server with NO_PROXY=$noProxy is proxied: $expected", ({ server, noProxy, expected }) => {
    expect(proxied(server, { HTTPS_PROXY: PROXY, NO_PROXY: noProxy })).toBe(expected ? PROXY : undefined);
    expect(proxied(server, { HTTPS_PROXY: PROXY, no_proxy: noProxy })).toBe(expected ? PROXY : undefined);
  });

  it("is the kubeconfig's, whatever the environment says", () => {
    const env = { HTTPS_PROXY: "http://other", NO_PROXY: "*" };
    expect(proxied("https://127.0.0.1", env, PROXY)).toBe(PROXY);
  });

  it.each(["ftp://u:secret@proxy.test", "http://", "http://u:secret@:1:2"])(
    "is not %s, and no password is told",
    (bad) => {
      expect(() => proxied("https://api.test", { HTTPS_PROXY: bad })).toThrow(/^HTTPS_PROXY: expected http:\/\/, /);
      expect(() => proxied("https://api.test", {}, bad)).toThrow(/^proxy-url: (?!.*secret)/);
    },
  );
});
