/**
 * What each request passes before and after its route, in this order: Host, Origin, token, body,
 * `authorize`, limits.
 */

import { parseSessionId, TurnlogError } from "../events/index.ts";
import type { Runtime, Session } from "../runtime/index.ts";
import { problemOf, problemResponse } from "./problems/index.ts";
import {
  assertNoTokenInUrl,
  assertSource,
  assertToken,
  RateLimit,
  readJsonBody,
  tokenOf,
  withHeaders,
} from "./security/index.ts";
import { streamedBody, type Call, type Route, type ServerAction } from "./route/index.ts";
import type { SocketCall } from "./sockets/index.ts";
import { Entrance, studioFile } from "./studio/index.ts";
import type { Authorization, ServerSettings } from "./server-options.ts";

const readingActions: ReadonlySet<ServerAction> = new Set(["list", "read", "export"]);

type PathParameters = Call["params"];

/** A connection that may become a WebSocket. */
export interface Upgrade extends Disposable {
  readonly session: Session;
  readonly call: SocketCall;
}

export class Gates {
  readonly #runtime: Runtime;
  readonly #settings: ServerSettings;
  readonly #closing: AbortSignal;
  readonly #rate: RateLimit;
  readonly #entrance: Entrance | undefined;

  constructor(runtime: Runtime, settings: ServerSettings, closing: AbortSignal) {
    this.#runtime = runtime;
    this.#settings = settings;
    this.#closing = closing;
    this.#rate = new RateLimit(settings.limits, Date.now);
    const { studio, token } = settings;
    this.#entrance = studio && token !== undefined ? new Entrance(token) : undefined;
  }

  /** A route of the table. */
  async serve(request: Request, params: PathParameters, route: Route): Promise<Response> {
    return await this.#answered(request, async (about) => {
      this.#assertKnown(request);
      const checked = route.check({ params, ...(await this.#given(request, route)) });
      const session = checked.session === undefined ? "" : parseSessionId(checked.session);
      about.session = session;
      const actor = await this.#authorized(request, checked.action, session);
      about.actor = actor;
      const open = this.#rate.enter(actor ?? "");
      let isStream = false;
      try {
        const answer = await checked.handle(this.#call(request, params, session, actor, open));
        isStream = answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
        return answer;
      } finally {
        if (!isStream) open[Symbol.dispose]();
      }
    });
  }

  /** The session of a request to upgrade its connection. @throws TurnlogError as for a route */
  async upgrade(request: Request): Promise<Upgrade> {
    assertSource(request, this.#settings);
    this.#assertKnown(request);
    const id = parseSessionId(new URL(request.url).searchParams.get("sessionId"));
    const actor = await this.#authorized(request, "read", id);
    const open = this.#rate.enter(actor ?? "");
    const allow = async (action: ServerAction): Promise<void> => {
      await this.#authorized(request, action, id);
    };
    try {
      const session = await this.#runtime.session(id, { createIfMissing: false });
      return { ...open, session, call: { runtime: this.#runtime, actor, allow } };
    } catch (error) {
      open[Symbol.dispose]();
      throw error;
    }
  }

  /** A route without a session, for clients with the token. */
  async plain(request: Request, handle: () => Response): Promise<Response> {
    return await this.#answered(request, async () => {
      this.#assertKnown(request);
      return handle();
    });
  }

  /** The path that signs a browser in. @throws TurnlogError `INVALID_INPUT` */
  studioPath(): string {
    if (!this.#settings.studio)
      throw new TurnlogError("INVALID_INPUT", "The server has no studio: set its option `studio`.");
    return this.#entrance === undefined ? "/" : `/?ticket=${this.#entrance.ticket()}`;
  }

  /** A file of the studio, which has nothing of the store; or the exchange of a ticket for a cookie. */
  async studioPage(request: Request): Promise<Response> {
    return await this.#answered(request, async () => {
      const { pathname, searchParams } = new URL(request.url);
      const ticket = pathname === "/" ? searchParams.get("ticket") : null;
      if (ticket !== null) {
        const cookie = this.#entrance?.redeem(ticket, request.url);
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
      const cookie = this.#entrance?.cookie(request.url);
      return new Response(null, {
        status: 204,
        headers: cookie === undefined ? {} : { "set-cookie": cookie },
      });
    });
  }

  /** A route that load balancers ask without a token. */
  async open(request: Request, handle: () => Response | Promise<Response>): Promise<Response> {
    return await this.#answered(request, async () => await handle());
  }

  /** Whether the store can be read and the server takes requests. */
  async readiness(): Promise<Response> {
    this.#assertOpen();
    for await (const _ of this.#runtime.log.list()) break;
    return Response.json({ status: "ready" });
  }

  /** Answers what browsers ask before a request of another origin. */
  async preflight(request: Request): Promise<Response> {
    return await this.#answered(request, async () => {
      const headers = {
        "access-control-allow-methods": "GET, POST, DELETE",
        "access-control-allow-headers":
          "authorization, content-type, idempotency-key, last-event-id",
        "access-control-max-age": "600",
      };
      return new Response(null, { status: 204, headers });
    });
  }

  async #answered(
    request: Request,
    handle: (about: About) => Promise<Response>,
  ): Promise<Response> {
    const startedAt = performance.now();
    const about: About = { session: "", actor: undefined };
    let origin: string | undefined;
    let answer: Response;
    let code: string | undefined;
    try {
      origin = assertSource(request, this.#settings);
      answer = await handle(about);
    } catch (error) {
      answer = problemResponse(error);
      ({ code } = problemOf(error));
      if (answer.status >= 500) this.#settings.onError(error);
    }
    this.#settings.onRequest({
      time: Date.now(),
      method: request.method,
      path: new URL(request.url).pathname,
      status: answer.status,
      ms: Math.round((performance.now() - startedAt) * 10) / 10,
      ...(about.session === "" ? {} : { session: about.session }),
      ...(about.actor === undefined ? {} : { actor: about.actor }),
      ...(code === undefined ? {} : { code }),
    });
    return withHeaders(answer, origin);
  }

  #assertKnown(request: Request): void {
    const { url, headers } = request;
    const { token } = this.#settings;
    assertNoTokenInUrl(url, token);
    const isAdmitted = this.#entrance?.admits(request) === true;
    if (token !== undefined && !isAdmitted) assertToken(tokenOf(headers), token);
    this.#assertOpen();
  }

  #assertOpen(): void {
    if (!this.#closing.aborted) return;
    throw new TurnlogError(
      "RUNTIME_CLOSED",
      "The server is closing. Send the request again when it has started anew.",
    );
  }

  async #given(
    request: Request,
    route: Route,
  ): Promise<{ readonly query: unknown; readonly body: unknown }> {
    const query = Object.fromEntries(new URL(request.url).searchParams);
    if (route.method === "get" || route.body === streamedBody) return { query, body: undefined };
    return { query, body: await readJsonBody(request, this.#settings.limits.bodyBytes) };
  }

  /** The name of the actor. */
  async #authorized(
    request: Request,
    action: ServerAction,
    session: string,
  ): Promise<string | undefined> {
    const { authorize, isReadOnly } = this.#settings;
    if (isReadOnly && !readingActions.has(action)) {
      throw new TurnlogError(
        "FORBIDDEN",
        `Nothing can run or change here (${action}): the server has no agent. Start it with --agent <module>.`,
      );
    }
    if (authorize === undefined) return undefined;
    const requested = session === "" ? { action } : { action, session };
    const authorization: Authorization = await authorize(request, requested);
    if (authorization === false) {
      const what = session === "" ? "" : ` in session ${session}`;
      throw new TurnlogError("FORBIDDEN", `You may not ${action}${what}.`);
    }
    return authorization === true ? undefined : authorization.actor;
  }

  async #mayRead(request: Request, session: string): Promise<boolean> {
    const { authorize } = this.#settings;
    if (authorize === undefined) return true;
    return (await authorize(request, { action: "read", session })) !== false;
  }

  #call(
    request: Request,
    params: Readonly<Record<string, string>>,
    session: string,
    actor: string | undefined,
    open: Disposable,
  ): Call {
    const { heartbeatMs, stallMs, limits } = this.#settings;
    return {
      runtime: this.#runtime,
      request,
      session,
      params,
      actor,
      stream: { heartbeatMs, stallMs, closing: this.#closing },
      bodyBytes: limits.bodyBytes,
      ended: () => {
        open[Symbol.dispose]();
      },
      open: ({ create = false, agent, metadata } = {}) =>
        this.#runtime.session(session === "" ? undefined : session, {
          createIfMissing: create,
          ...(agent === undefined ? {} : { agent }),
          ...(metadata === undefined ? {} : { metadata }),
        }),
      allow: async (action, other = session) => {
        await this.#authorized(request, action, other);
      },
      mayRead: (other) => this.#mayRead(request, other),
    };
  }
}

interface About {
  session: string;
  actor: string | undefined;
}
