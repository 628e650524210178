/**
 * Where a request may come from: its Host and its Origin. A page of another site can send requests to a
 * server of this machine, also under a name of its own that it points here (DNS rebinding).
 */

import { TurnlogError } from "../../events/index.ts";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Where logins at MCP servers lead back to. */
export const LOGIN_CALLBACK = "/api/logins/callback";

interface AllowedSources {
  /** Host names under which clients reach the server, with or without a port. */
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
      `This server does not answer to the host ${JSON.stringify(host.slice(0, 100))}. Add the name to \`hosts\` if it is right.`,
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
  if ((site === "cross-site" || site === "same-site") && !isReturn(headers, url))
    throw forbidden("Pages of other sites may not load anything from this server.");
  return undefined;
}

/** The login at another site leads back here. What it may do is asked there: its `state` is known to one person only. */
function isReturn(headers: Headers, url: string): boolean {
  return (
    new URL(url).pathname === LOGIN_CALLBACK &&
    headers.get("sec-fetch-mode") === "navigate" &&
    headers.get("sec-fetch-dest") === "document"
  );
}

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function forbidden(message: string): TurnlogError {
  return new TurnlogError("FORBIDDEN", message);
}

// The token of a server: made, compared in constant time, and refused in URLs.

/** A new token: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** @throws TurnlogError `UNAUTHORIZED` */
export function assertToken(given: string | undefined, token: string): void {
  if (given !== undefined && isEqual(given, token)) return;
  throw new TurnlogError(
    "UNAUTHORIZED",
    given === undefined
      ? "The request has no token. Send it as `Authorization: Bearer <token>`."
      : "The token is wrong. `turnlog serve` prints where the right one is.",
  );
}

const tokenNames: ReadonlySet<string> = new Set([
  "token",
  "access_token",
  "auth",
  "authorization",
  "api_key",
]);

/**
 * URLs are kept in histories and logs, so a token there is refused.
 * @throws TurnlogError `INVALID_INPUT`
 */
export function assertNoTokenInUrl(url: string, token: string | undefined): void {
  const { searchParams, username, password } = new URL(url);
  const isNamed = [...searchParams].some(
    ([name, value]) =>
      tokenNames.has(name.toLowerCase()) || (token !== undefined && isEqual(value, token)),
  );
  if (!isNamed && username === "" && password === "") return;
  throw new TurnlogError(
    "INVALID_INPUT",
    "A token does not belong in a URL, since histories and logs keep URLs. Send it as `Authorization: Bearer <token>`, and change it if it was the right one.",
    { details: { option: "url" } },
  );
}

/** Digests have the same length, so the time of the comparison reveals nothing. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Pages cannot set headers of a WebSocket, so they send the token as a protocol, `turnlog.token.<token>`. */
export function tokenOf(headers: Headers): string | undefined {
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  if (bearer !== undefined) return bearer;
  const protocols = headers.get("upgrade") === null ? null : headers.get("sec-websocket-protocol");
  return /(?:^|,)\s*turnlog\.token\.([^\s,]+)/.exec(protocols ?? "")?.[1];
}
