/**
 * Where a request may come from: its Host and its Origin. A page of another site can send requests to a
 * server of this machine, also under a name of its own that it points here (DNS rebinding).
 */

import { TurnlogError } from "../../events/index.ts";

interface AllowedSources {
  /** Host names that the server is reached by, with or without a port. */
  readonly hosts: readonly string[];
  /** Origins of other sites whose pages may use the server. */
  readonly origins: readonly string[];
}

const loopback: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);

/** Whether a host name reaches this machine only. */
export function isLoopbackName(name: string): boolean {
  return loopback.has(name.toLowerCase());
}

/**
 * Refuses a request by its Host and its Origin.
 * @returns The origin of an allowed other site, for which the answer gets CORS headers.
 * @throws TurnlogError `FORBIDDEN`
 */
export function assertSource(
  { headers, url }: Pick<Request, "headers" | "url">,
  { hosts, origins }: AllowedSources,
): string | undefined {
  const host = headers.get("host") ?? new URL(url).host;
  const parsed = URL.parse(`http://${host}`);
  const isPlain = parsed !== null && parsed.host.length > 0 && /^[\w.:[\]-]+$/.test(host);
  const isKnown =
    isPlain &&
    hosts.some((one) => same(one, parsed.host) || same(one, parsed.hostname) || same(one, host));
  if (!isKnown) {
    throw forbidden(
      `The server is not reached by the host ${JSON.stringify(host.slice(0, 100))}. Add the name to \`hosts\` if it is right.`,
    );
  }
  const origin = headers.get("origin");
  if (origin !== null) {
    if (origins.some((one) => same(one, origin))) return origin;
    if (URL.parse(origin)?.host === parsed.host) return undefined;
    throw forbidden(
      `Pages of ${JSON.stringify(origin.slice(0, 100))} may not use this server. Add the origin to \`origins\` if they should.`,
    );
  }
  // Without an Origin: images, frames and links of other sites say so here.
  const site = headers.get("sec-fetch-site");
  if (site === "cross-site" || site === "same-site")
    throw forbidden("Pages of other sites may not load anything from this server.");
  return undefined;
}

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function forbidden(message: string): TurnlogError {
  return new TurnlogError("FORBIDDEN", message);
}
