/**
 * Makes one HTTP request to a checked address: it resolves the name once and gives the socket only addresses that the
 * rule allows, which the global `fetch` cannot do. Does not follow redirects.
 */

import { lookup } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import ipaddr from "ipaddr.js";

export interface PinnedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** @throws errors of the connection, and an error with a sentence for a forbidden address */
export function pinnedFetch(
  url: URL,
  { headers, signal }: PinnedRequest,
  rule: AddressRule,
): Promise<Response> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isChecked = !rule.allowsHost(host);
  // A socket does not look up IP addresses, so they are checked here.
  if (isChecked && isIP(host) !== 0 && !rule.allowsAddress(host)) throw notPublic(host);
  const checkedLookup: LookupFunction = (name, { all }, callback) => {
    lookup(name, { all: true }, (error, addresses) => {
      // The declared type is wrong: with an error there are no addresses.
      const [first] = error === null ? addresses : [];
      if (first === undefined) {
        callback(error ?? new Error(`${name} has no address`), []);
      } else if (isChecked && !addresses.every(({ address }) => rule.allowsAddress(address))) {
        callback(notPublic(host), []);
      } else if (all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((settle, fail) => {
    // No shared agent: a reused socket was opened under another check.
    const sent = request(url, {
      agent: false,
      lookup: checkedLookup,
      headers: { ...headers },
      signal,
    });
    sent.on("error", fail);
    sent.on("response", (message) => {
      try {
        settle(responseOf(message));
      } catch (error) {
        message.destroy();
        fail(error instanceof Error ? error : new Error(String(error)));
      }
    });
    sent.end();
  });
}

/** Does not name the addresses: the model reads this, and could map a network with it. */
function notPublic(host: string): Error {
  return new Error(
    `${host} leads to an address that is not public: add it or its range to \`attachments.allow\` if it may be read`,
  );
}

/** Statuses for which `Response` accepts no body. */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

function responseOf(message: IncomingMessage): Response {
  const { statusCode: status = 0, statusMessage: statusText = "" } = message;
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  if (bodiless.has(status)) {
    message.resume();
    return new Response(null, { status, statusText, headers });
  }
  const body = decoded(message, headers);
  return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array<ArrayBuffer>>, {
    status,
    statusText,
    headers,
  });
}

/** Decompresses the body: some servers compress although the request does not allow it. */
function decoded(message: IncomingMessage, headers: Headers): Readable {
  const coding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  const decoder = decoderOf(coding);
  if (decoder === undefined) return message;
  // The length is that of the compressed bytes.
  headers.delete("content-length");
  message.on("error", (error) => decoder.destroy(error));
  decoder.on("close", () => message.destroy());
  return message.pipe(decoder);
}

function decoderOf(coding: string): (Readable & NodeJS.ReadWriteStream) | undefined {
  switch (coding) {
    case "identity":
    case "":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new Error(`it is compressed with ${coding}, which was not requested`);
  }
}

// Which network addresses a download may reach: public ones and those that the user allows. Pure.

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
