/** Checks every request first: Host and Origin, then the token or the cookie of the studio. Knows no runtime. */

import { HeadRequest } from "./route/route.ts";
import { defined, TurnlogError } from "../events/index.ts";
import { isFault, operator, problemOf, problemResponse, type Reader } from "./problems/problem.ts";
import { assertNoTokenInUrl, assertToken, tokenOf, assertSource } from "./security/access.ts";
import type { ServerSettings } from "./server-options.ts";
import { StudioSignIn } from "./studio/sign-in.ts";
import { studioFile } from "./studio/page-files.ts";

/** What is known about a request that is being answered, for the request log. */
export interface About {
  session: string;
  actor: string | undefined;
  /** Who reads the problem, if it is answered by one. */
  reader: Reader;
}

export class RequestGuard {
  readonly #settings: ServerSettings;
  readonly #closing: AbortSignal;
  readonly #signIn: StudioSignIn | undefined;

  constructor(settings: ServerSettings, closing: AbortSignal) {
    this.#settings = settings;
    this.#closing = closing;
    const { studio, token } = settings;
    this.#signIn = studio && token !== undefined ? new StudioSignIn(token) : undefined;
  }

  /** A route without a session, for clients with the token. */
  async plain(request: Request, handle: () => Response | Promise<Response>): Promise<Response> {
    return await this.answered(request, async () => {
      this.assertKnown(request);
      return await handle();
    });
  }

  /** The path that signs a browser in. @throws TurnlogError `INVALID_INPUT` */
  studioPath(): string {
    if (!this.#settings.studio)
      throw new TurnlogError("INVALID_INPUT", "The server has no studio: set its option `studio`.");
    return this.#signIn === undefined ? "/" : `/?ticket=${this.#signIn.ticket()}`;
  }

  /** A file of the studio, which contains no data of the store, or the exchange of a ticket for a cookie. */
  async studioPage(request: Request): Promise<Response> {
    return await this.answered(request, async () => {
      const { pathname, searchParams } = new URL(request.url);
      const ticket = pathname === "/" ? searchParams.get("ticket") : null;
      if (ticket !== null) {
        const cookie = this.#signIn?.redeem(ticket, request.url);
        const headers = {
          location: "/",
          ...(cookie === undefined ? {} : { "set-cookie": cookie }),
        };
        return new Response(null, { status: 303, headers });
      }
      const file = await studioFile(pathname);
      if (file !== undefined) return file;
      throw new TurnlogError("ROUTE_NOT_FOUND", `The studio has no file ${pathname}.`);
    });
  }

  /** Gives the cookie of the studio to a browser that has the token. */
  async signIn(request: Request): Promise<Response> {
    return await this.plain(request, () => {
      const cookie = this.#signIn?.cookie(request.url);
      return new Response(null, {
        status: 204,
        headers: cookie === undefined ? {} : { "set-cookie": cookie },
      });
    });
  }

  /** A route that load balancers call without a token. */
  async open(request: Request, handle: () => Response | Promise<Response>): Promise<Response> {
    return await this.answered(request, async () => await handle());
  }

  /** Answers the preflight that browsers send before a request from another origin. */
  async preflight(request: Request): Promise<Response> {
    return await this.answered(request, async () => {
      const headers = {
        "access-control-allow-methods": "GET, POST, DELETE",
        "access-control-allow-headers": [...ownHeaders, ...this.#settings.allowHeaders].join(", "),
        "access-control-max-age": "600",
      };
      return new Response(null, { status: 204, headers });
    });
  }

  /** The answer of a handler, or the problem that it threw, with the headers of all answers. */
  async answered(request: Request, handle: (about: About) => Promise<Response>): Promise<Response> {
    const startedAt = performance.now();
    // The client is unknown so far; with `authorize` it may be an end user.
    const isOperator = this.#settings.authorize === undefined;
    const about: About = { session: "", actor: undefined, reader: { ...operator, isOperator } };
    let origin: string | undefined;
    let answer: Response;
    let code: string | undefined;
    let reference: string | undefined;
    try {
      origin = assertSource(request, this.#settings);
      answer = await handle(about);
    } catch (error) {
      const problem = problemOf(error, about.reader);
      answer = problemResponse(error, problem);
      ({ code, reference } = problem);
      if (isFault(problem)) this.#settings.onError(error, defined({ reference }));
    }
    this.#settings.onRequest({
      time: Date.now(),
      method: request instanceof HeadRequest ? "HEAD" : request.method,
      path: new URL(request.url).pathname,
      status: answer.status,
      ms: Math.round((performance.now() - startedAt) * 10) / 10,
      ...(about.session === "" ? {} : { session: about.session }),
      ...defined({ actor: about.actor, code, reference }),
    });
    return withHeaders(answer, origin, this.#settings.credentials);
  }

  /** @throws TurnlogError `UNAUTHORIZED`, `RUNTIME_CLOSED` */
  assertKnown(request: Request): void {
    const { url, headers } = request;
    const { token } = this.#settings;
    assertNoTokenInUrl(url, token);
    const isAdmitted = this.#signIn?.admits(request) === true;
    if (token !== undefined && !isAdmitted) assertToken(tokenOf(headers), token);
    this.assertOpen();
  }

  /** @throws TurnlogError `RUNTIME_CLOSED` */
  assertOpen(): void {
    if (!this.#closing.aborted) return;
    throw new TurnlogError(
      "RUNTIME_CLOSED",
      "The server is closing. Send the request again when it has restarted.",
    );
  }
}

// The headers of every answer: its protocol, and what a browser may do with it.

/** The version of the protocol, in the header `turnlog-protocol` of each answer. */
const PROTOCOL_VERSION = "1";

/** What clients of the protocol send. */
const ownHeaders = ["authorization", "content-type", "idempotency-key", "last-event-id"];

function withHeaders(
  answer: Response,
  origin: string | undefined,
  takesCredentials: boolean,
): Response {
  const { headers } = answer;
  headers.set("turnlog-protocol", PROTOCOL_VERSION);
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "no-referrer");
  headers.set(
    "cross-origin-resource-policy",
    origin === undefined ? "same-origin" : "cross-origin",
  );
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  if (!headers.has("content-security-policy"))
    headers.set("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
  headers.append("vary", "Origin");
  if (origin !== undefined) {
    headers.set("access-control-allow-origin", origin);
    if (takesCredentials) headers.set("access-control-allow-credentials", "true");
    headers.set("access-control-expose-headers", "turnlog-protocol, retry-after");
  }
  return answer;
}
