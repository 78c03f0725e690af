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
  it.each<[string, string, boolean]>([
    ["https://localhost:6443", "", false],
    ["https://127.0.0.1:6443", "", false],
    ["https://127.8.0.1", "", false],
    ["https://[::1]:6443", "", false],
    ["https://10.0.0.1", "", true],
    ["https://api.test", "*", false],
    ["https://api.test", "foo.test, api.test", false],
    ["https://API.test", "api.TEST", false],
    ["https://a.api.test", "api.test", false],
    ["https://myapi.test", "api.test", true],
    ["https://api.test", ".api.test", true],
    ["https://a.api.test", ".api.test", false],
    ["https://api.test", "*.api.test", true],
    ["https://a.api.test", "*.api.test", false],
    ["https://api.test", "api.test:443", false],
    ["https://api.test:6443", "api.test:443", true],
    ["https://api.test:6443", "api.test:6443", false],
    ["https://10.1.2.3", "10.0.0.0/8", false],
    ["https://11.1.2.3", "10.0.0.0/8", true],
    ["https://api.test", "10.0.0.0/8", true],
    ["https://10.1.2.3:6443", "10.1.2.3", false],
    ["https://10.1.2.3:6443", "10.1.2.3:6443", false],
    ["https://10.1.2.3:6443", "10.1.2.3:443", true],
    ["https://10.1.2.4", "10.1.2.3", true],
    ["https://[fd00::5]", "fd00::/8", false],
    ["https://[fd00::5]", "fd00::5", false],
    ["https://[fd00::5]:6443", "[fd00::5]:6443", false],
    ["https://[fd00::5]", "[fd00::5]:6443", true],
    ["https://10.1.2.3", "10.0.0.0/99,,/8,:443", true],
  ])("%s with NO_PROXY=%s is proxied: %s", (server, noProxy, expected) => {
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
