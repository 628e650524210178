/** Answers requests by the routes, after the guard, the body, `authorize` and the limits. */

import { createHash, randomUUID } from "node:crypto";
import type { Permission } from "../commands/index.ts";
import { defined, hasCode, parseSessionId, readBlob, TurnlogError } from "../events/index.ts";
import type { Runtime, Session } from "../runtime/index.ts";
import { absentSession, checkPosition } from "../state/index.ts";
import { refersToBlob } from "../media/index.ts";
import { maskedError, type UIOptions } from "../ui/index.ts";
import { RequestGuard } from "./request-guard.ts";
import { assertSource } from "./security/access.ts";
import { readJsonBody } from "./security/body.ts";
import { RateLimit } from "./security/rate-limit.ts";
import { isFault, problemOf, type Problem, type Reader } from "./problems/problem.ts";
import { ownMetadata, streamedBody, type Audience, type Call, type Route } from "./route/route.ts";
import { isEventStream } from "./streams/event-stream.ts";
import { OpenAnswers, type Admitted } from "./streams/open-answers.ts";
import { gateOf } from "./streams/permitted-events.ts";
import type { SocketCall } from "./sockets/session-socket.ts";
import {
  Permissions,
  seesDeleted,
  shownSession,
  storedPrefix,
  type AskedOf,
  type Grant,
} from "./permissions.ts";
import type { ServerSettings } from "./server-options.ts";
import { requestedTurn } from "./route/requested-turn.ts";

type PathParameters = Call["params"];

/** A connection of one session that may become a WebSocket. */
interface Upgrade extends Disposable {
  readonly session: Session;
  readonly call: SocketCall;
  /** Aborts when the connection must end. */
  readonly ends: AbortSignal;
}

export class RouteHandler {
  readonly guard: RequestGuard;
  /** Those that are still open. */
  readonly answers: OpenAnswers;
  readonly #runtime: Runtime;
  readonly #settings: ServerSettings;
  readonly #rate: RateLimit;
  readonly #permissions: Permissions;

  constructor(runtime: Runtime, settings: ServerSettings, closing: AbortSignal) {
    this.guard = new RequestGuard(settings, closing);
    this.answers = new OpenAnswers();
    this.#runtime = runtime;
    this.#settings = settings;
    this.#permissions = new Permissions(runtime, settings);
    this.#rate = new RateLimit(settings.limits, Date.now);
  }

  /** A route of the table. */
  async serve(request: Request, params: PathParameters, route: Route): Promise<Response> {
    return await this.guard.answered(request, async (about) => {
      this.guard.assertKnown(request);
      let session = "";
      let grant: Grant | undefined;
      const ask = async (asked: {
        readonly action: Permission;
        readonly session: string | undefined;
      }): Promise<Grant> => {
        about.session = session = asked.session === undefined ? "" : parseSessionId(asked.session);
        const { action } = asked;
        return await this.#granted(request, { action, session, audience: route.audience });
      };
      try {
        // Where the path alone identifies the request, the body is read only for clients that may send it.
        const known = route.about(params);
        const check = async (): Promise<ReturnType<Route["check"]>> =>
          route.check({ params, ...(await this.#given(request, route)) });
        try {
          grant = known && (await ask(known));
        } catch (error) {
          // A session that does not exist has its request checked first: one of another must answer the same.
          if (isAbsent(error, session, grant)) await check();
          throw error;
        }
        const checked = await check();
        grant ??= await ask(checked);
        about.session = grant.session;
        about.actor = grant.actor;
        about.reader = readerOf(grant);
        const asked = { action: checked.action, session, audience: route.audience };
        return await this.#answered(request, params, grant, asked, checked.handle);
      } catch (error) {
        if (session === "" || !isAbsent(error, session, grant)) throw error;
        if (route.absent !== undefined) return route.absent();
        throw absentSession(session);
      }
    });
  }

  /** The session of a request to upgrade its connection. @throws TurnlogError as for a route */
  async upgrade(request: Request): Promise<Upgrade> {
    assertSource(request, this.#settings);
    this.guard.assertKnown(request);
    const session = parseSessionId(new URL(request.url).searchParams.get("sessionId"));
    const grant = await this.#granted(request, { action: "read", session, audience: "user" });
    const name = nameOf(grant, request);
    const allow = async (action: Permission, audience: Audience = "user"): Promise<string> =>
      (await this.#permissions.of(request, { action, session, audience, served: grant.session }))
        .session;
    const answer = this.#admit(grant, name, () => allow("read"));
    try {
      const opened = await this.#runtime.session(grant.session, { createIfMissing: false });
      const reader = readerOf(grant);
      return {
        session: opened,
        ends: answer.ends,
        call: {
          runtime: this.#runtime,
          by: named(grant.actor),
          sender: senderOf(grant),
          audience: grant.audience,
          hide: reader.isOperator ? [] : this.#settings.users.hide,
          allow: async (action, audience) => void (await allow(action, audience)),
          gate: (action) => gateOf(() => allow(action, "operator")),
          blob: async (other, digest) => await this.#blob(request, other, digest),
          enter: () => this.#rate.enter(name),
          problem: (error) => this.#problem(error, reader),
        },
        [Symbol.dispose]: () => answer[Symbol.dispose](),
      };
    } catch (error) {
      answer[Symbol.dispose]();
      throw isAbsent(error, session, grant) ? absentSession(session) : error;
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

  /** Counts the requests that `authorize` refuses. The client is unknown then, so its headers identify it. */
  async #granted(request: Request, asked: AskedOf): Promise<Grant> {
    const name = `refused ${loginOf(request)}`;
    this.#rate.assertMay(name);
    try {
      return await this.#permissions.of(request, asked);
    } catch (error) {
      if (hasCode(error, "UNAUTHORIZED") || hasCode(error, "FORBIDDEN"))
        this.#rate.enter(name)[Symbol.dispose]();
      throw error;
    }
  }

  async #answered(
    request: Request,
    params: PathParameters,
    grant: Grant,
    asked: AskedOf,
    handle: (call: Call) => Promise<Response>,
  ): Promise<Response> {
    const served = { ...asked, served: grant.session };
    const admitted = this.#admit(grant, nameOf(grant, request), () =>
      this.#permissions.of(request, served),
    );
    let isStream = false;
    try {
      const answer = await handle(this.#call(request, params, grant, served, admitted));
      isStream = isEventStream(answer);
      return answer;
    } finally {
      if (!isStream) admitted[Symbol.dispose]();
    }
  }

  /** Counts an answer, which is open until the returned object is disposed of. @throws TurnlogError `TOO_MANY_REQUESTS` */
  #admit(grant: Grant, name: string, ask: () => Promise<unknown>): Admitted {
    const open = this.#rate.enter(name);
    const admitted = this.answers.admit(grant, async () => {
      try {
        await ask();
        return true;
      } catch (error) {
        if (isFault(problemOf(error))) this.#settings.onError(error);
        return false;
      }
    });
    return {
      ends: admitted.ends,
      [Symbol.dispose]: () => {
        admitted[Symbol.dispose]();
        open[Symbol.dispose]();
      },
    };
  }

  /** A file of a session that a request names besides its own. */
  async #blob(request: Request, session: string, digest: string): Promise<Uint8Array> {
    const asked = { action: "read", session, audience: "user" } as const;
    const grant = await this.#permissions.of(request, asked);
    try {
      return await readSessionBlob(this.#runtime, grant.session, digest);
    } catch (error) {
      throw isAbsent(error, session, grant) ? absentSession(session) : error;
    }
  }

  #problem(error: unknown, reader: Reader): Problem {
    const problem = problemOf(error, reader);
    // The answer has begun, so nothing else reports it.
    if (isFault(problem)) this.#settings.onError(error, defined({ reference: problem.reference }));
    return problem;
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
    grant: Grant,
    served: Required<AskedOf>,
    admitted: Admitted,
  ): Call {
    const { heartbeatMs, stallMs, limits, users } = this.#settings;
    const { session, ...permission } = grant;
    const { actor, where } = permission;
    const isOperator = grant.audience === "operator";
    const { audience } = served;
    const allow: Call["allow"] = async (action, other) => {
      const asked =
        other === undefined ? { ...served, action } : { action, session: other, audience };
      return (await this.#permissions.of(request, asked)).session;
    };
    return {
      runtime: this.#runtime,
      request,
      session,
      shownSession: (stored) => shownSession(grant, stored),
      storedPrefix: (prefix) => storedPrefix(grant, prefix),
      audience: grant.audience,
      ui: isOperator ? { ...everything, session } : { ...shownTo(users), session },
      hide: isOperator ? [] : users.hide,
      params,
      by: named(actor),
      sender: senderOf(grant),
      stream: { heartbeatMs, stallMs, closing: admitted.ends },
      bodyBytes: limits.bodyBytes,
      ended: () => admitted[Symbol.dispose](),
      newId: () => (grant.tenant === undefined ? undefined : storedPrefix(grant, randomUUID())),
      open: async ({ create = false, agent, metadata, id } = {}) =>
        await this.#runtime.session(session === "" ? id : session, {
          createIfMissing: create,
          ...defined({ agent, metadata: create ? ownMetadata(where, metadata) : metadata }),
        }),
      allow,
      gate: (action) => gateOf(() => allow(action)),
      turnOf: (own, known) => requestedTurn(this.#settings.request, permission, own, known),
      where,
      seesDeleted: seesDeleted(grant),
      blob: async (other, digest) => await this.#blob(request, other, digest),
      may: (action, other) =>
        this.#permissions.may(request, {
          action,
          session: shownSession(grant, other),
          audience,
          served: other,
        }),
      problem: (error) => this.#problem(error, readerOf(grant)),
    };
  }
}

/** @throws TurnlogError `BLOB_MISSING`: the session does not refer to it, whatever the store has */
async function readSessionBlob(
  { log, blobs }: Pick<Runtime, "log" | "blobs">,
  session: string,
  digest: string,
): Promise<Uint8Array> {
  const upTo = await log.revision(session);
  if (upTo === 0) await checkPosition(log, session);
  const isIts = blobs !== undefined && (await refersToBlob(log, session, upTo, digest));
  if (isIts && (await blobs.has(digest))) return await readBlob(blobs, digest);
  throw new TurnlogError("BLOB_MISSING", `Session ${session} has no blob ${digest}.`, { session });
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

function senderOf({ actor, context }: Grant): Call["sender"] {
  return { ...named(actor), ...(context === undefined ? {} : { about: { context } }) };
}

/** A client for the limits: tenants may have actors of the same name. */
function nameOf({ tenant, actor, where, audience }: Grant, request: Request): string {
  if (actor !== undefined || where !== undefined) return JSON.stringify([tenant, actor, where]);
  // Without `authorize` all have the same token.
  return audience === "operator" ? "" : loginOf(request);
}

/** Identifies a client by its headers, since any header may hold its login. */
function loginOf({ headers }: Request): string {
  const all = [...headers].filter(([name]) => name !== "content-length");
  return createHash("sha256").update(JSON.stringify(all)).digest("base64url");
}

/** Sessions that a client may not see answer as those that do not exist; so do deleted ones, which may be another's. */
function isAbsent(error: unknown, session: string, grant: Grant | undefined): boolean {
  if (!TurnlogError.isInstance(error)) return false;
  const hidesDeleted = grant !== undefined && !seesDeleted(grant);
  const isGone =
    error.code === "SESSION_NOT_FOUND" || (error.code === "SESSION_DELETED" && hidesDeleted);
  return isGone && (error.session === session || error.session === grant?.session);
}

function readerOf(grant: Grant): Reader {
  const { session, audience } = grant;
  const shown = shownSession(grant, session);
  return {
    isOperator: audience === "operator",
    shown: (text) => (shown === session ? text : text.replaceAll(session, shown)),
  };
}

const everything: Omit<UIOptions, "session"> = { errorText: ({ message }) => message };

function shownTo({ hide, errorText }: ServerSettings["users"]): Omit<UIOptions, "session"> {
  return { hide, errorText: (failure) => errorText?.(failure) ?? maskedError(failure) };
}
