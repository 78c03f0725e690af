import { lookup as dnsLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** Code of the error that a `lookup` gives for an address that may not be used. */
export const ADDRESS_REFUSED = "ERR_ADDRESS_REFUSED";

type Network = readonly [address: string, bits: number];

/** IANA IPv4 Special-Purpose Address Registry: what is not globally reachable, and multicast. */
const PRIVATE_V4: readonly Network[] = [
  ["0.0.0.0", 8], // RFC 791: this network
  ["10.0.0.0", 8], // RFC 1918: private use
  ["100.64.0.0", 10], // RFC 6598: shared address space
  ["127.0.0.0", 8], // RFC 1122: loopback
  ["169.254.0.0", 16], // RFC 3927: link local, with the metadata services of clouds
  ["172.16.0.0", 12], // RFC 1918: private use
  ["192.0.0.0", 24], // RFC 6890: IETF protocol assignments
  ["192.0.2.0", 24], // RFC 5737: documentation
  ["192.88.99.0", 24], // RFC 7526: 6to4 relays, deprecated
  ["192.168.0.0", 16], // RFC 1918: private use
  ["198.18.0.0", 15], // RFC 2544: benchmarking
  ["198.51.100.0", 24], // RFC 5737: documentation
  ["203.0.113.0", 24], // RFC 5737: documentation
  ["224.0.0.0", 4], // RFC 5771: multicast
  ["240.0.0.0", 4], // RFC 1112: reserved, and RFC 919: limited broadcast
  ["168.63.129.16", 32], // Not in the registry: the platform service of Azure, which virtual machines alone reach
];

/** IANA IPv6 address space: global unicast. Everything else is special, reserved or not assigned. */
const GLOBAL_V6: Network = ["2000::", 3];

/** IANA IPv6 Special-Purpose Address Registry: what is not globally reachable within global unicast. */
const PRIVATE_GLOBAL_V6: readonly Network[] = [
  ["2001::", 23], // RFC 2928: IETF protocol assignments, with Teredo and ORCHID
  ["2001:db8::", 32], // RFC 3849: documentation
  ["2002::", 16], // RFC 3056: 6to4, which embeds any IPv4 address
  ["3fff::", 20], // RFC 9637: documentation
];

/** IPv6 addresses that stand for the IPv4 address in their last 32 bits, and are judged as that one. */
const EMBEDDING_V6: readonly Network[] = [
  ["::ffff:0:0", 96], // RFC 4291: IPv4-mapped
  ["64:ff9b::", 96], // RFC 6052: NAT64
];

/** Networks of both families. An IPv4 network has the IPv6 addresses that stand for its addresses too. */
function networkSet(networks: readonly Network[]): BlockList {
  const set = new BlockList();
  for (const [address, bits] of networks) {
    if (isIP(address) === 6) {
      set.addSubnet(address, bits, "ipv6");
      continue;
    }
    set.addSubnet(address, bits, "ipv4");
    set.addSubnet(`::ffff:${address}`, 96 + bits, "ipv6");
    set.addSubnet(`64:ff9b::${address}`, 96 + bits, "ipv6");
  }
  return set;
}

const privateV4 = networkSet(PRIVATE_V4);
const globalV6 = networkSet([GLOBAL_V6]);
const privateGlobalV6 = networkSet(PRIVATE_GLOBAL_V6);
const embeddingV6 = networkSet(EMBEDDING_V6);

/** Judges the addresses of connections. `refuses`: judges an IP address without a connection, in the form of `URL.hostname`. */
export type AddressGuard = LookupFunction & { refuses?: (hostname: string) => boolean };

/**
 * Whether a URL may be shown as a link: http(s), without credentials, and at no IP address that the guard refuses. What a name resolves
 * to is judged at each connection.
 */
export function isLinkable(text: string, guard: AddressGuard | undefined): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hostname } = new URL(text);
  const plain = (protocol === "https:" || protocol === "http:") && username === "" && password === "";
  return plain && guard?.refuses?.(hostname) !== true;
}

/** Mooring refused a connection to this address before it sent a byte. */
export class PrivateAddressError extends Error {
  override readonly name = "PrivateAddressError";
  readonly code = ADDRESS_REFUSED;
}

/** Whether an IP address lies outside the public internet. IPv4-mapped and NAT64 addresses are judged by the IPv4 address in them. */
export function isPrivateAddress(address: string): boolean {
  const { bare, family } = parseAddress(address);
  if (family === undefined) return false;
  if (family === "ipv4" || embeddingV6.check(bare, family)) return privateV4.check(bare, family);
  return !globalV6.check(bare, family) || privateGlobalV6.check(bare, family);
}

/** Without brackets, and without the zone of a link-local address. */
function parseAddress(address: string): { bare: string; family: "ipv4" | "ipv6" | undefined } {
  const bare = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const version = isIP(bare);
  return { bare, family: version === 4 ? "ipv4" : version === 6 ? "ipv6" : undefined };
}

/** Networks in CIDR notation. @throws RangeError for any other text */
export function parseNetworks(networks: readonly string[]): Network[] {
  return networks.map((network) => {
    const [address = "", bits = ""] = network.split("/");
    const most = isIP(address) === 4 ? 32 : 128;
    if (isIP(address) === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most) {
      throw new RangeError(`${network} is no network: give it in CIDR notation, such as 10.0.0.0/8`);
    }
    return [address, Number(bits)];
  });
}

/**
 * A `lookup` for `net.connect` that fails when a name resolves to any private address: judged on the very address that is
 * connected to, so a name that changes its answer (DNS rebinding) gains nothing. Literal addresses must be shown to it too:
 * Node does not look them up (guarded-connect.ts). Its error does not show what a name resolves to: its reader may not
 * know the network.
 * @param advice ends the error's message: which setting allows the address
 * @param allowedPrivateNetworks in CIDR notation; their addresses are allowed although they are private
 * @param denied in CIDR notation; their addresses are refused, whatever else is allowed
 */
export function publicOnly(
  advice: string,
  allowedPrivateNetworks: readonly string[] = [],
  denied: readonly string[] = [],
): AddressGuard {
  const allowed = networkSet(parseNetworks(allowedPrivateNetworks));
  const isPrivate: Judge = ({ bare, family }) =>
    isPrivateAddress(bare) && !(family !== undefined && allowed.check(bare, family))
      ? { what: "not public", advice }
      : undefined;
  return judgedBy([deniedIn(denied), isPrivate]);
}

/** A `lookup` that refuses the addresses of some networks only, in CIDR notation. */
export function anyExcept(denied: readonly string[]): AddressGuard {
  return denied.length === 0 ? anyAddress : judgedBy([deniedIn(denied)]);
}

/** What is wrong with an address; undefined: nothing. */
type Judge = (address: ReturnType<typeof parseAddress>) => { what: string; advice: string } | undefined;

function deniedIn(networks: readonly string[]): Judge {
  const denied = networkSet(parseNetworks(networks));
  const advice = "nobody may connect to the networks in the operator's --denied-networks: use another address";
  return ({ bare, family }) =>
    family !== undefined && denied.check(bare, family) ? { what: "denied", advice } : undefined;
}

function judgedBy(judges: readonly Judge[]): AddressGuard {
  const refusalOf = (addresses: readonly LookupAddress[]) =>
    addresses
      .map(({ address }) => parseAddress(address))
      .flatMap((address) => judges.flatMap((judge) => judge(address) ?? []))[0];
  const lookup: LookupFunction = (hostname, options, callback) => {
    const all: LookupOptions = { ...options, all: true };
    dnsLookup(hostname, all, (error, answers) => {
      if (error !== null) return callback(error, "", 0);
      const addresses = answers as unknown as LookupAddress[];
      const refusal = refusalOf(addresses);
      if (refusal !== undefined) {
        const literal = refusal.what === "denied" ? "is a denied address" : "is not a public address";
        const what = isIP(hostname) === 0 ? `resolves to an address that is ${refusal.what}` : literal;
        return callback(new PrivateAddressError(`${hostname} ${what}: ${refusal.advice}`), "", 0);
      }
      if (options.all) return callback(null, addresses);
      const [first] = addresses;
      if (first === undefined) return callback(new Error(`${hostname}: no address`), "", 0);
      callback(null, first.address, first.family);
    });
  };
  const refuses = (hostname: string) => refusalOf([{ address: hostname, family: 0 }]) !== undefined;
  return Object.assign(lookup, { refuses });
}

/** A `lookup` that leads every name to one address, which `guard` judges. */
export function leadsTo(address: string, guard: LookupFunction): LookupFunction {
  return (_name, options, callback) => guard(address, options, callback);
}

/** A `lookup` that refuses nothing, for `--allow-private-networks`. */
export const anyAddress: LookupFunction = (hostname, options, callback) => dnsLookup(hostname, options, callback);
