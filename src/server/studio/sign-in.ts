/**
 * Signs a browser in to the studio, so that no script of the page has the token: a one-time ticket, or the
 * token once, becomes a cookie. Requests that change something must also have a header, which no form can send.
 */

import { createHmac, randomBytes } from "node:crypto";
import { assertToken } from "../security/access.ts";

/** The header of requests of the studio. Other sites cannot send it without CORS. */
const HEADER = "turnlog-client";

const TICKET_MS = 10 * 60_000;

export class StudioSignIn {
  readonly #token: string;
  readonly #clock: () => number;
  /** The end of each ticket that was not used. */
  readonly #tickets = new Map<string, number>();

  constructor(token: string, clock: () => number = Date.now) {
    this.#token = token;
    this.#clock = clock;
  }

  /** A ticket for one sign-in within ten minutes. */
  ticket(): string {
    const now = this.#clock();
    for (const [known, until] of this.#tickets) if (until < now) this.#tickets.delete(known);
    const ticket = randomBytes(32).toString("base64url");
    this.#tickets.set(ticket, now + TICKET_MS);
    return ticket;
  }

  /** Redeems a ticket. Returns the cookie of the browser; undefined for a ticket that is not valid. */
  redeem(ticket: string, url: string): string | undefined {
    const until = this.#tickets.get(ticket);
    this.#tickets.delete(ticket);
    return until === undefined || until < this.#clock() ? undefined : this.cookie(url);
  }

  /** The cookie of a browser that showed a ticket or the token. It ends with the browser's session. */
  cookie(url: string): string {
    const { protocol } = new URL(url);
    const secure = protocol === "https:" ? "; Secure" : "";
    return `${nameFor(url)}=${this.#value()}; Path=/; HttpOnly; SameSite=Strict${secure}`;
  }

  /** Whether the request has the cookie, and our header if it may change something. */
  admits({ method, headers, url }: Request): boolean {
    if (headers.get("upgrade") !== null) return false;
    const isRead = method === "GET" || method === "HEAD";
    if (!isRead && headers.get(HEADER) !== "studio") return false;
    const given = cookies(headers).get(nameFor(url));
    if (given === undefined) return false;
    try {
      assertToken(given, this.#value());
      return true;
    } catch {
      return false;
    }
  }

  /** Not the token itself: a stolen cookie opens nothing but the studio, and a new token ends it. */
  #value(): string {
    return createHmac("sha256", this.#token).update("turnlog studio").digest("base64url");
  }
}

/** Browsers share cookies between the ports of a host. */
function nameFor(url: string): string {
  const { port, protocol } = new URL(url);
  return `turnlog-studio-${port === "" ? protocol.slice(0, -1) : port}`;
}

function cookies(headers: Headers): ReadonlyMap<string, string> {
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim().split("="));
  return new Map(pairs.map(([name = "", value = ""]) => [name, value]));
}
