import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  ADDRESS_REFUSED,
  isPrivateAddress,
  PrivateAddressError,
  publicLookup,
} from "../../../src/net/address-guard.ts";

describe("an address", () => {
  it.each([
    "0.0.0.0",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "[::1]",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "febf::1",
    "ff02::1",
    "2001:db8::1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:7f00:1",
  ])("%s is private", (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.each([
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.255.255",
    "192.169.0.1",
    "198.17.255.255",
    "198.20.0.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "[2606:4700:4700::1111]",
    "::ffff:8.8.8.8",
  ])("%s is public", (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });

  it.each(["localhost", "", "example.com", "1.2.3"])("is not %s: names are judged by what they resolve to", (text) => {
    expect(isPrivateAddress(text)).toBe(false);
  });
});

describe("a name that resolves to a private address", () => {
  it.each([{ all: false }, { all: true }])("is refused (%o)", async (options) => {
    const error = await new Promise((resolve) => publicLookup("localhost", options, (reason) => resolve(reason)));
    expect(error).toBeInstanceOf(PrivateAddressError);
    expect(String(error)).toMatch(
      /localhost is the private address .*; a namespaced Account may use public addresses only: use a ClusterAccount/,
    );
  });

  it("is never connected to: not a byte arrives", async () => {
    let connections = 0;
    const server = createServer((_request, response) => response.end());
    server.on("connection", () => connections++);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const pool = new Pool(`http://localhost:${(server.address() as AddressInfo).port}`, {
      connect: { lookup: publicLookup },
    });
    onTestFinished(() => pool.destroy());
    await expect(pool.request({ method: "GET", path: "/" })).rejects.toMatchObject({ code: ADDRESS_REFUSED });
    expect(connections).toBe(0);
  });
});
