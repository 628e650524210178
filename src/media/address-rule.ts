/** Which network addresses a download may reach: public ones and those that the user allows. Pure. */

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

export interface AddressRule {
  /** Whether the user allowed this host, so that its addresses are not checked. */
  allowsHost(host: string): boolean;
  allowsAddress(address: string): boolean;
}

/** In a public range, but Azure answers there with secrets of the machine. Other clouds use local addresses. */
const METADATA: ReadonlySet<string> = new Set(["168.63.129.16"]);

/** All addresses that the internet routes; all others are local, reserved or translated. */
const globalUnicast = ipaddr.IPv6.parseCIDR("2000::/3");

/** @param allow - Host names, IP addresses and CIDR ranges, as in `AttachmentOptions.allow`. */
export function addressRule(allow: readonly string[]): AddressRule {
  const ranges = allow.map(rangeOf).filter((range) => range !== undefined);
  const hosts = new Set(allow.map(hostName));
  return {
    allowsHost: (host) => hosts.has(hostName(host)),
    allowsAddress(text) {
      if (isIP(text) === 0) return false;
      const address = ipaddr.process(text);
      return ranges.some((range) => isWithin(address, range)) || isPublic(address);
    },
  };
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [network: Address, bits: number];

function rangeOf(entry: string): Range | undefined {
  if (ipaddr.isValidCIDR(entry)) return ipaddr.parseCIDR(entry);
  if (!ipaddr.isValid(entry)) return undefined;
  const address = ipaddr.process(entry);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

function isWithin(address: Address, [network, bits]: Range): boolean {
  if (address instanceof ipaddr.IPv4)
    return network instanceof ipaddr.IPv4 && address.match(network, bits);
  return network instanceof ipaddr.IPv6 && address.match(network, bits);
}

function isPublic(address: Address): boolean {
  if (METADATA.has(address.toString())) return false;
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast";
  const translated = behindNat64(address);
  if (translated !== undefined) return isPublic(translated);
  return address.match(globalUnicast) && address.range() === "unicast";
}

const nat64 = ipaddr.IPv6.parseCIDR("64:ff9b::/96");

/** A network without IPv4 maps it under this prefix, so the embedded IPv4 address decides. */
function behindNat64(address: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  return address.match(nat64) ? new ipaddr.IPv4(address.toByteArray().slice(-4)) : undefined;
}

/** Normalizes spellings of a host: `Example.org`, `example.org.`, `[::1]`. */
function hostName(text: string): string {
  return text
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^\[(.*)\]$/, "$1");
}
