import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Pool } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  ADDRESS_REFUSED,
  anyAddress,
  isLinkable,
  isPrivateAddress,
  PrivateAddressError,
  publicOnly,
} from "../../../src/base/address-guard.ts";
import { createAddresses } from "../../../src/operator/addresses.ts";

const publicLookup = createAddresses({ allowPrivateNetworks: false, deniedNetworks: [] }).service("Account");

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
    "::ffff:169.254.169.254",
    "[::ffff:192.168.0.1]",
    "::127.0.0.1",
    "::a00:1",
    "::808:808",
    "::ffff:0:10.0.0.1",
    "::ffff:0:8.8.8.8",
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::808:808",
    "100::1",
    "100:0:0:1::1",
    "2001::1",
    "2001:0:4136:e378::1",
    "2001:10::1",
    "2001:20::1",
    "2001:1ff:ffff::1",
    "2002:a00:1::1",
    "2002:808:808::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "4000::1",
    "5f00::1",
    "8000::1",
    "fec0::1",
    "feff::1",
    "fe80::1%eth0",
    "[fe80::1%25eth0]",
    "fd00:ec2::254",
    "1fff:ffff::1",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "64:ff9b::a83f:8110",
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
    "64:ff9b::8.8.8.8",
    "168.63.129.17",
    "2000::1",
    "2001:200::1",
    "2001:db7:ffff::1",
    "2001:db9::1",
    "2003::1",
    "2a00:1450:4001::1",
    "3ffe::1",
    "3fff:1000::1",
  ])("%s is public", (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });

  it.each(["localhost", "", "example.com", "1.2.3"])("is not %s: names are judged by what they resolve to", (text) => {
    expect(isPrivateAddress(text)).toBe(false);
  });
});

describe("allowed private networks", () => {
  const allow = (networks: string[], address: string) =>
    new Promise((resolve) =>
      publicOnly("advice", networks)(address, { all: true }, (error) => resolve(error?.message)),
    );

  it.each([
    [["10.20.0.0/16"], "10.20.3.4"],
    [["10.20.3.4/16"], "10.20.0.1"],
    [["10.20.0.0/16"], "::ffff:10.20.3.4"],
    [["10.20.0.0/16"], "64:ff9b::10.20.3.4"],
    [["192.0.2.0/24", "127.0.0.1/32"], "127.0.0.1"],
    [["fd12::/16"], "fd12:3456::1"],
    [["::1/128"], "::1"],
    [["10.0.0.0/8"], "8.8.8.8"],
    [["0.0.0.0/0"], "169.254.169.254"],
  ])("%j allow %s", async (networks, address) => {
    expect(await allow(networks, address)).toBeUndefined();
  });

  it.each([
    [["10.20.0.0/16"], "10.21.0.1"],
    [["10.20.0.0/16"], "127.0.0.1"],
    [["10.20.0.0/16"], "169.254.169.254"],
    [["127.0.0.0/8"], "::1"],
    [["127.0.0.0/8"], "::127.0.0.1"],
    [["fd12::/16"], "fd13::1"],
    [[], "10.0.0.1"],
  ])("%j do not allow %s", async (networks, address) => {
    expect(await allow(networks, address)).toBe(`${address} is not a public address: advice`);
  });

  it.each(["10.0.0.0", "10.0.0.0/", "host/8", "/8", "10.0.0/8"])("%s is no network", (network) => {
    expect(() => publicOnly("advice", [network])).toThrow(/is no network/);
  });
});

describe("a name that resolves to a private address", () => {
  it.each([{ all: false }, { all: true }])("is refused (%o)", async (options) => {
    const error = await new Promise((resolve) => publicLookup("localhost", options, (reason) => resolve(reason)));
    expect(error).toBeInstanceOf(PrivateAddressError);
    expect(String(error)).toMatch(
      /localhost resolves to an address that is not public: a namespaced Account may use public addresses only: use a ClusterAccount/,
    );
    expect(String(error), "what an internal name resolves to is not for tenants").not.toMatch(/127\.0\.0\.1|::1/);
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

describe("isLinkable", () => {
  it.each([
    ["https://files.example.com/a.mp3?sig=1", true],
    ["http://files.example.com/a.mp3", true],
    ["http://93.184.216.34/a", true],
    ["http://10.20.0.1/a", true],
    ["file:///etc/passwd", false],
    ["javascript:alert(1)", false],
    ["data:text/html,x", false],
    ["ftp://files.example.com/a", false],
    ["https://user:pw@files.example.com/a", false],
    ["http://169.254.169.254/latest/meta-data/", false],
    ["http://2852039166/", false],
    ["http://0x7f.1/", false],
    ["http://[::1]/a", false],
    ["http://[::ffff:10.0.0.1]/a", false],
    ["not a URL", false],
    ["", false],
  ])("%s: %s", (url, linkable) => {
    expect(isLinkable(url, publicOnly("", ["10.20.0.0/16"], ["169.254.169.254/32"]))).toBe(linkable);
  });

  it("without a guard judges no address", () => {
    expect(isLinkable("http://127.0.0.1/a", anyAddress)).toBe(true);
    expect(isLinkable("file:///etc/passwd", anyAddress)).toBe(false);
  });
});
