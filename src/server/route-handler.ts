/** Answers requests by the routes, after the guard, the body, `authorize` and the limits. */

import type { Permission } from "../commands/index.ts";
import { defined, parseSessionId, TurnlogError } from "../events/index.ts";
import type { Runtime, Session } from "../runtime/index.ts";
import { RequestGuard } from "./request-guard.ts";
import { assertSource } from "./security/access.ts";
import { readJsonBody } from "./security/body.ts";
import { ownMetadata, streamedBody, type Call, type Route } from "./route/route.ts";
import { isEventStream } from "./streams/event-stream.ts";
import { gateOf, type Gate } from "./streams/permitted-events.ts";
import type { SocketCall } from "./sockets/session-socket.ts";
import { Permissions } from "./permissions.ts";
import type { Granted, ServerSettings } from "./server-options.ts";

type PathParameters = Call["params"];
type Asked = NonNullable<ReturnType<Route["about"]>>;

/** A connection of one session that may become a WebSocket. */
interface Upgrade extends Disposable {
  readonly session: Session;
  readonly call: SocketCall;
}

export class RouteHandler {
  readonly guard: RequestGuard;
  readonly #runtime: Runtime;
  readonly #settings: ServerSettings;
  readonly #closing: AbortSignal;
  readonly #rate: RateLimit;
  readonly #permissions: Permissions;

  constructor(runtime: Runtime, settings: ServerSettings, closing: AbortSignal) {
    this.guard = new RequestGuard(settings, closing);
    this.#runtime = runtime;
    this.#settings = settings;
    this.#closing = closing;
    this.#permissions = new Permissions(runtime, settings);
    this.#rate = new RateLimit(settings.limits, Date.now);
  }

  /** A route of the table. */
  async serve(request: Request, params: PathParameters, route: Route): Promise<Response> {
    return await this.guard.answered(request, async (about) => {
      this.guard.assertKnown(request);
      const ask = async ({ action, session: asked }: Asked): Promise<Granted> => {
        about.session = asked === undefined ? "" : parseSessionId(asked);
        return await this.#permissions.of(request, action, about.session);
      };
      // Where the path alone identifies the request, the body is read only for clients that may send it.
      const known = route.about(params);
      const early = known === undefined ? undefined : await ask(known);
      const checked = route.check({ params, ...(await this.#given(request, route)) });
      const permission = early ?? (await ask(checked));
      const { session } = about;
      about.actor = permission.actor;
      const open = this.#rate.enter(permission.actor ?? "");
      let isStream = false;
      try {
        const call = this.#call(request, params, session, permission, open);
        const answer = await checked.handle(call);
        isStream = isEventStream(answer);
        return answer;
      } finally {
        if (!isStream) open[Symbol.dispose]();
      }
    });
  }

  /** The session of a request to upgrade its connection. @throws TurnlogError as for a route */
  async upgrade(request: Request): Promise<Upgrade> {
    assertSource(request, this.#settings);
    this.guard.assertKnown(request);
    const id = parseSessionId(new URL(request.url).searchParams.get("sessionId"));
    const { actor } = await this.#permissions.of(request, "read", id);
    const open = this.#rate.enter(actor ?? "");
    const allow = async (action: Permission): Promise<void> => {
      await this.#permissions.of(request, action, id);
    };
    const gate = (action: Permission): Gate => gateOf(() => allow(action), this.#settings.onError);
    try {
      const session = await this.#runtime.session(id, { createIfMissing: false });
      const enter = (): Disposable => this.#rate.enter(actor ?? "");
      return {
        ...open,
        session,
        call: { runtime: this.#runtime, by: named(actor), allow, gate, enter },
      };
    } catch (error) {
      open[Symbol.dispose]();
      throw error;
    }
  }

  /** A connection for chats: `authorize` is asked about each frame. @throws TurnlogError as for a route */
  assertMayConnect(request: Request): void {
    assertSource(request, this.#settings);
    this.guard.assertKnown(request);
  }

  /** Whether the store can be read and the server takes requests. */
  async readiness(): Promise<Response> {
    this.guard.assertOpen();
    for await (const _ of this.#runtime.log.list()) break;
    return Response.json({ status: "ready" });
  }

  async #given(
    request: Request,
    route: Route,
  ): Promise<{ readonly query: unknown; readonly body: unknown }> {
    const query = queryOf(request);
    if (route.method === "get" || route.body === streamedBody) return { query, body: undefined };
    return { query, body: await readJsonBody(request, this.#settings.limits.bodyBytes) };
  }

  #call(
    request: Request,
    params: Readonly<Record<string, string>>,
    session: string,
    { actor, where }: Granted,
    open: Disposable,
  ): Call {
    const { heartbeatMs, stallMs, limits, onError } = this.#settings;
    return {
      runtime: this.#runtime,
      request,
      session,
      params,
      by: named(actor),
      stream: { heartbeatMs, stallMs, closing: this.#closing },
      bodyBytes: limits.bodyBytes,
      ended: () => {
        open[Symbol.dispose]();
      },
      open: async ({ create = false, agent, metadata } = {}) =>
        await this.#runtime.session(session === "" ? undefined : session, {
          createIfMissing: create,
          ...defined({ agent, metadata: create ? ownMetadata(where, metadata) : metadata }),
        }),
      allow: async (action, other = session) => {
        await this.#permissions.of(request, action, other);
      },
      gate: (action, other = session) =>
        gateOf(() => this.#permissions.of(request, action, other), onError),
      where,
      mayRead: (other) => this.#permissions.mayRead(request, other),
    };
  }
}

/** @throws TurnlogError `INVALID_INPUT` for a field that is given twice */
function queryOf({ url }: Request): Readonly<Record<string, string>> {
  const { searchParams } = new URL(url);
  const query = Object.fromEntries(searchParams);
  const twice = Object.keys(query).find((name) => searchParams.getAll(name).length > 1);
  if (twice === undefined) return query;
  throw new TurnlogError("INVALID_INPUT", `\`${twice}\` is given twice. Give it once.`, {
    details: { option: twice },
  });
}

function named(actor: string | undefined): Call["by"] {
  return actor === undefined ? {} : { by: actor };
}

// Limits of one client: requests per minute, and answers that are open at the same time.

interface Client {
  minute: number;
  requests: number;
  open: number;
}

/** Counts requests and open answers by client: the actor that `authorize` names, else the token. */
export class RateLimit {
  readonly #limits: { readonly requestsPerMinute: number; readonly openAnswers: number };
  readonly #clock: () => number;
  readonly #clients = new Map<string, Client>();

  constructor(
    limits: { readonly requestsPerMinute: number; readonly openAnswers: number },
    clock: () => number,
  ) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Counts a request. Its answer is open until the returned object is disposed of. @throws TurnlogError
   * `TOO_MANY_REQUESTS`
   */
  enter(name: string): Disposable {
    const now = this.#clock();
    const minute = Math.floor(now / 60_000);
    const client = this.#client(name, minute);
    if (client.requests >= this.#limits.requestsPerMinute) {
      const retryAfterSeconds = ((minute + 1) * 60_000 - now) / 1000;
      throw tooMany(
        `One client sent more than ${this.#limits.requestsPerMinute} requests in a minute.`,
        retryAfterSeconds,
      );
    }
    if (client.open >= this.#limits.openAnswers)
      throw tooMany(`One client has ${client.open} open answers. Close streams first.`, 5);
    client.requests++;
    client.open++;
    let isOpen = true;
    return {
      [Symbol.dispose]: () => {
        if (isOpen) client.open--;
        isOpen = false;
      },
    };
  }

  #client(name: string, minute: number): Client {
    const known = this.#clients.get(name);
    if (known?.minute === minute) return known;
    for (const [other, { minute: last, open }] of this.#clients)
      if (last !== minute && open === 0) this.#clients.delete(other);
    const client = known ?? { minute, requests: 0, open: 0 };
    client.minute = minute;
    client.requests = 0;
    this.#clients.set(name, client);
    return client;
  }
}

function tooMany(message: string, retryAfterSeconds: number): TurnlogError {
  return new TurnlogError("TOO_MANY_REQUESTS", message, { details: { retryAfterSeconds } });
}
