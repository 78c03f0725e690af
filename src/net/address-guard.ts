import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** Code of the error that a `lookup` gives for an address that may not be used. */
export const ADDRESS_REFUSED = "ERR_ADDRESS_REFUSED";

/** Addresses that are never the public internet's (IANA special-purpose registries, RFC 6890). */
const PRIVATE_V4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;
const PRIVATE_V6 = [
  ["::", 128],
  ["::1", 128],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
] as const;

const blocked = new BlockList();
for (const [net, bits] of PRIVATE_V4) blocked.addSubnet(net, bits, "ipv4");
for (const [net, bits] of PRIVATE_V6) blocked.addSubnet(net, bits, "ipv6");

/** A connection to this address was refused by us, before a byte was sent. */
export class PrivateAddressError extends Error {
  override readonly name = "PrivateAddressError";
  readonly code = ADDRESS_REFUSED;
}

/** Whether an IP address (IPv4-mapped ones included) lies outside the public internet. */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/^\[|\]$/g, "");
  const family = isIP(bare);
  if (family === 4) return blocked.check(bare, "ipv4");
  // BlockList judges ::ffff:a.b.c.d by its IPv4 rules.
  return family === 6 && blocked.check(bare, "ipv6");
}

/**
 * A `lookup` for `net.connect` that fails when a name resolves to any private address: judged on the very address that is
 * connected to, so a name that changes its answer (DNS rebinding) gains nothing. Literal addresses must be shown to it too:
 * Node does not look them up (guarded-connect.ts).
 * @param advice ends the error's message: who may use public addresses only, and what to do
 */
export function publicOnly(advice: string): LookupFunction {
  return (hostname, options, callback) => {
    const all: LookupOptions = { ...options, all: true };
    dnsLookup(hostname, all, (error, answers) => {
      if (error !== null) return callback(error, "", 0);
      const addresses = answers as unknown as LookupAddress[];
      const bad = addresses.find(({ address }) => isPrivateAddress(address));
      if (bad !== undefined) {
        const refusal = new PrivateAddressError(`${hostname} is the private address ${bad.address}; ${advice}`);
        return callback(refusal, "", 0);
      }
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      if (first === undefined) return callback(new Error(`${hostname}: no address`), "", 0);
      callback(null, first.address, first.family);
    });
  };
}

/** For what is called, or fetched, for a namespaced Account. */
export const publicLookup: LookupFunction = publicOnly(
  "a namespaced Account may use public addresses only: use a ClusterAccount, or --allow-private-networks for development",
);
