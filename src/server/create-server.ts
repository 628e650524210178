/**
 * The server: a web-standard `fetch` over the routes. Each request passes the same gates in the same
 * order: Host, Origin, token, limits, body, `authorize`, then its route.
 */

import type { Context, Hono } from "hono";
import { parseSessionId, TurnlogError } from "../events/index.ts";
import type { Runtime } from "../runtime/index.ts";
import { optionalPackage } from "../shared/index.ts";
import { problemOf, problemResponse } from "./problems/index.ts";
import {
  assertNoTokenInUrl,
  assertSource,
  assertToken,
  RateLimit,
  readJsonBody,
} from "./security/index.ts";
import type { Call, Route, ServerAction } from "./route/index.ts";
import { streamedBody } from "./route/index.ts";
import { routes } from "./routes.ts";
import { describeRoutes } from "./description.ts";
import {
  serverSettings,
  type Authorization,
  type ServerOptions,
  type ServerSettings,
} from "./server-options.ts";

/** The version of the protocol, in the header `turnlog-protocol` of each answer. */
const PROTOCOL_VERSION = "1";

/** A server over a runtime. It does not own the runtime: close that yourself. */
export interface Server {
  /** Answers a request. Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The token that requests must send; undefined with `token: false`. */
  readonly token: string | undefined;
  /**
   * Refuses new requests and ends all streams with a comment that says why. Turns go on: the runtime's
   * `close` stops them.
   */
  readonly close: (reason?: string) => void;
}

/**
 * Serves the sessions of a runtime over HTTP: the AI SDK's chat protocol, sessions, events, approvals.
 * @throws TurnlogError `INVALID_INPUT` for wrong options
 * @example
 * const server = createServer(runtime, { token: process.env.TURNLOG_TOKEN });
 * export const POST = server.fetch; // a route of Next.js
 */
export function createServer(runtime: Runtime, options: ServerOptions = {}): Server {
  const settings = serverSettings(options);
  const closing = new AbortController();
  const gates = new Gates(runtime, settings, closing.signal);
  let app: Promise<Hono> | undefined;
  return {
    token: settings.token,
    fetch: async (request) => {
      try {
        app ??= application(gates);
        return await (await app).fetch(request);
      } catch (error) {
        settings.onError(error);
        return problemResponse(error);
      }
    },
    close: (reason = "the server was closed") => {
      closing.abort(reason);
    },
  };
}

async function application(gates: Gates): Promise<Hono> {
  const { Hono } = await optionalPackage("hono", "turnlog/server", () => import("hono"));
  const app = new Hono();
  const all = routes();
  for (const one of all)
    app.on(one.method.toUpperCase(), pathOf(one), (context) => gates.serve(context, one));
  const description = JSON.stringify(describeRoutes(all));
  app.get("/openapi.json", (context) =>
    gates.plain(context, () => new Response(description, jsonType)),
  );
  app.get("/healthz", (context) => gates.open(context, () => Response.json({ status: "ok" })));
  app.get("/readyz", (context) => gates.open(context, () => gates.readiness()));
  app.get("/ws", (context) =>
    gates.plain(context, () => {
      throw new TurnlogError(
        "UPGRADE_REQUIRED",
        "This address speaks WebSocket, with a server of `serveNode`. Use server-sent events elsewhere: GET /api/sessions/<id>/events.",
      );
    }),
  );
  app.options("*", (context) => gates.preflight(context));
  app.notFound((context) =>
    gates.plain(context, () => {
      throw new TurnlogError(
        "ROUTE_NOT_FOUND",
        `There is no route ${context.req.method} ${context.req.path}. /openapi.json lists them.`,
      );
    }),
  );
  return app;
}

const jsonType = { headers: { "content-type": "application/json" } };

function pathOf({ path }: Route): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

/** What each request passes before and after its route. */
class Gates {
  readonly #runtime: Runtime;
  readonly #settings: ServerSettings;
  readonly #closing: AbortSignal;
  readonly #rate: RateLimit;

  constructor(runtime: Runtime, settings: ServerSettings, closing: AbortSignal) {
    this.#runtime = runtime;
    this.#settings = settings;
    this.#closing = closing;
    this.#rate = new RateLimit(settings.limits, Date.now);
  }

  /** A route of the table. */
  async serve(context: Context, route: Route): Promise<Response> {
    const request = context.req.raw;
    return await this.#answered(request, async (about) => {
      this.#assertKnown(request);
      const params = context.req.param();
      const checked = route.check({ params, ...(await this.#given(context, route)) });
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

  /** A route without a session, for clients with the token. */
  async plain(context: Context, handle: () => Response): Promise<Response> {
    const request = context.req.raw;
    return await this.#answered(request, async () => {
      this.#assertKnown(request);
      return handle();
    });
  }

  /** A route that load balancers ask without a token. */
  async open(context: Context, handle: () => Response | Promise<Response>): Promise<Response> {
    return await this.#answered(context.req.raw, async () => await handle());
  }

  /** Whether the store can be read and the server takes requests. */
  async readiness(): Promise<Response> {
    this.#assertOpen();
    for await (const _ of this.#runtime.log.list()) break;
    return Response.json({ status: "ready" });
  }

  /** Answers what browsers ask before a request of another origin. */
  async preflight(context: Context): Promise<Response> {
    return await this.#answered(context.req.raw, async () => {
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

  #assertKnown({ url, headers }: Request): void {
    const { token } = this.#settings;
    assertNoTokenInUrl(url, token);
    if (token !== undefined)
      assertToken(/^Bearer (.+)$/i.exec(headers.get("authorization") ?? "")?.[1], token);
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
    { req }: Context,
    route: Route,
  ): Promise<{ readonly query: unknown; readonly body: unknown }> {
    const query = Object.fromEntries(new URL(req.url).searchParams);
    if (route.method === "get" || route.body === streamedBody) return { query, body: undefined };
    return { query, body: await readJsonBody(req.raw, this.#settings.limits.bodyBytes) };
  }

  /** The name of the actor. */
  async #authorized(
    request: Request,
    action: ServerAction,
    session: string,
  ): Promise<string | undefined> {
    const { authorize } = this.#settings;
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
      open: ({ create = false } = {}) =>
        this.#runtime.session(session === "" ? undefined : session, { createIfMissing: create }),
      allow: async (action) => {
        await this.#authorized(request, action, session);
      },
      mayRead: (other) => this.#mayRead(request, other),
    };
  }
}

interface About {
  session: string;
  actor: string | undefined;
}

/** The headers of every answer. */
function withHeaders(answer: Response, origin: string | undefined): Response {
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
    headers.set("access-control-expose-headers", "turnlog-protocol, retry-after");
  }
  return answer;
}
