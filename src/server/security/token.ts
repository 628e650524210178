/** The token of a server: made, compared in constant time, and refused in URLs. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { TurnlogError } from "../../events/index.ts";

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
      : "The token is wrong. `turnlog serve` says where the right one is.",
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
    "A token does not belong in a URL, which histories and logs keep. Send it as `Authorization: Bearer <token>`, and change it if it was the right one.",
    { details: { option: "url" } },
  );
}

/** Digests have one length, so the time tells nothing. */
function isEqual(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Pages cannot set headers of a WebSocket: they send the token as a protocol, `turnlog.token.<token>`. */
export function tokenOf(headers: Headers): string | undefined {
  const [, bearer] = /^Bearer (.+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  if (bearer !== undefined) return bearer;
  const protocols = headers.get("upgrade") === null ? null : headers.get("sec-websocket-protocol");
  return /(?:^|,)\s*turnlog\.token\.([^\s,]+)/.exec(protocols ?? "")?.[1];
}
