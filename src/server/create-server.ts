/** The server: a web-standard `fetch` over the routes. Each request passes the same checks. */

import type { Hono } from "hono";
import {
  TurnlogError,
  type JsonObject,
  type JsonValue,
  jsonObjectSchema,
} from "../events/index.ts";
import type { Runtime } from "../runtime/index.ts";
import { HeadRequest } from "./route/route.ts";
import { RouteHandler } from "./route-handler.ts";
import { addStudioPages } from "./studio-pages.ts";
import { isFault, problemOf, problemResponse } from "./problems/problem.ts";
import type { Route } from "./route/route.ts";
import { check, optionsOf, text } from "../validation/index.ts";
import type { Revoked } from "./streams/open-answers.ts";
import { serveChatSocket, type Ask } from "./sockets/chat-socket.ts";
import { serverSocket, type ServerSocket } from "./sockets/server-socket.ts";
import { serveSocket } from "./sockets/session-socket.ts";
import { serverSettings, type ServerOptions, type ServerSettings } from "./server-options.ts";
import { agUiRoutes } from "./ag-ui/ag-ui-routes.ts";
import { chatRoutes } from "./chat/chat-routes.ts";
import { MessageFolds } from "./chat/message-folds.ts";
import { messageRoutes } from "./messages/message-routes.ts";
import { logRoutes } from "./store/index.ts";
import { approvalRoutes } from "./sessions/approval-routes.ts";
import { blobRoutes, eventRoutes, transferRoutes } from "./sessions/log-routes.ts";
import { catalogueRoutes } from "./sessions/catalogue-routes.ts";
import { sessionRoutes } from "./sessions/session-routes.ts";
import { studioRoutes } from "./studio/studio-routes.ts";
import { z } from "zod";

/**
 * A server over a runtime. It does not own the runtime: close that yourself.
 * @example
 * const server: Server = createServer(runtime);
 * const answer = await server.fetch(request);
 */
export interface Server {
  /** Answers a request. Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The token that requests must send; undefined with `token: false`. */
  readonly token: string | undefined;
  /**
   * Admits a WebSocket (`/ws?sessionId=<id>`, `/api/chat`) in a framework that upgrades connections itself.
   * Resolves with the response of a refusal, or with the server's side of the connection. `serveNode` does all of
   * this for you.
   * @example
   * const socket = await server.upgrade(request);
   * if (socket instanceof Response) return socket;
   * // Bun: upgrade with { data: socket }, and give `websocket` its open, message and close.
   */
  readonly upgrade: (request: Request) => Promise<Response | ServerSocket>;
  /**
   * Refuses new requests and ends all streams with a comment that says why. Turns keep running: the runtime's
   * `close` stops them.
   */
  readonly close: (reason?: string) => void;
  /**
   * Asks `authorize` again about all open streams and connections, or those of one actor or tenant, and ends those
   * that it refuses: call it when somebody has lost a permission. Without it, a stream asks for what comes 5 s after
   * the last answer, and every 30 s. A server of another process must be told too.
   * @example
   * await server.revoke({ tenant: "acme", actor: "ann" });
   */
  readonly revoke: (filter?: {
    readonly actor?: string;
    readonly tenant?: string;
  }) => Promise<void>;
  /**
   * The path that signs a browser in to the studio, once and within ten minutes; `/` if the server has no token.
   * @throws TurnlogError `INVALID_INPUT` without the option `studio`
   */
  readonly studioPath: () => string;
}

/**
 * Serves the sessions of a runtime over HTTP: the AI SDK's chat protocol, sessions, events, approvals.
 * @throws TurnlogError `INVALID_INPUT` for wrong options
 * @example
 * const server = createServer(runtime, { token: process.env.TURNLOG_TOKEN });
 * export const POST = server.fetch; // a route of Next.js
 */
export function createServer(runtime: Runtime, options: ServerOptions = {}): Server {
  return serverCore(runtime, options).server;
}

const revokedSchema = optionsOf<Revoked>({ actor: text, tenant: text }, {});

/** A server with its settings, for the code that listens. */
export interface ServerCore {
  readonly server: Server;
  readonly settings: ServerSettings;
}

/** @param more - Routes behind those of every server. */
export function serverCore(
  runtime: Runtime,
  options: ServerOptions,
  more: readonly Route[] = [],
): ServerCore {
  const settings = serverSettings(options);
  const closing = new AbortController();
  const handler = new RouteHandler(runtime, settings, closing.signal);
  let app: Promise<Hono> | undefined;
  const server: Server = {
    token: settings.token,
    studioPath: () => handler.guard.studioPath(),
    revoke: async (filter = {}) => {
      check(revokedSchema, filter, "revoke", { name: "filter" });
      await handler.answers.revoke(filter);
    },
    fetch: async (request) => {
      try {
        app ??= application(handler, settings, more);
        const isHead = request.method === "HEAD";
        const answer = await (await app).fetch(isHead ? new HeadRequest(request) : request);
        return isHead ? await withoutBody(answer) : answer;
      } catch (error) {
        settings.onError(error);
        return problemResponse(error);
      }
    },
    upgrade: async (request) => {
      try {
        return await admitted(request, handler, settings, closing.signal, server.fetch);
      } catch (error) {
        const problem = problemOf(error);
        if (isFault(problem)) settings.onError(error);
        return problemResponse(error, problem);
      }
    },
    close: (reason = "the server was closed") => {
      closing.abort(reason);
      handler.answers.close(reason);
    },
  };
  return { server, settings };
}

/** What a frame of a chat may add to the headers of its connection, in small letters. */
const frameHeaders = ["authorization", "idempotency-key"];

async function admitted(
  request: Request,
  handler: RouteHandler,
  { stallMs, allowHeaders }: ServerSettings,
  closing: AbortSignal,
  ask: Ask,
): Promise<ServerSocket> {
  switch (new URL(request.url).pathname) {
    case "/ws": {
      const upgrade = await handler.upgrade(request);
      return serverSocket({
        read: (socket) => serveSocket(upgrade.session, upgrade.call, socket),
        ended: () => upgrade[Symbol.dispose](),
        closing: upgrade.ends,
        stallMs,
      });
    }
    case "/api/chat":
      handler.assertMayConnect(request);
      return serverSocket({
        read: (socket) => serveChatSocket(socket, request, [...frameHeaders, ...allowHeaders], ask),
        ended: () => {},
        closing,
        stallMs,
      });
    default:
      throw new TurnlogError(
        "ROUTE_NOT_FOUND",
        "WebSockets are served at /ws?sessionId=<id>, and at /api/chat for `WebSocketChatTransport`.",
      );
  }
}

async function application(
  handler: RouteHandler,
  settings: ServerSettings,
  more: readonly Route[],
): Promise<Hono> {
  // Bundled into the package, and loaded with the first request.
  const { Hono } = await import("hono");
  const app = new Hono();
  const all = [...routes(settings), ...more];
  for (const one of all)
    app.on(one.method.toUpperCase(), pathOf(one), ({ req }) =>
      handler.serve(req.raw, req.param(), one),
    );
  const described = (): JsonObject => describeRoutes(all, settings.token !== undefined);
  app.get("/openapi.json", ({ req }) =>
    handler.guard.plain(req.raw, () => Response.json(described())),
  );
  app.get("/healthz", ({ req }) =>
    handler.guard.open(req.raw, () => Response.json({ status: "ok" })),
  );
  app.get("/readyz", ({ req }) => handler.guard.open(req.raw, () => handler.readiness()));
  app.on("GET", ["/ws", "/api/chat"], ({ req }) =>
    handler.guard.plain(req.raw, () => {
      throw new TurnlogError(
        "UPGRADE_REQUIRED",
        "This address speaks WebSocket, which needs `serveNode` or `server.upgrade`. Without them, use server-sent events: GET /api/sessions/<id>/events, POST /api/chat.",
      );
    }),
  );
  if (settings.studio) addStudioPages(app, handler.guard);
  app.options("*", ({ req }) => handler.guard.preflight(req.raw));
  refuseOtherMethods(app, handler);
  app.notFound(({ req }) =>
    handler.guard.plain(req.raw, () => {
      throw new TurnlogError(
        "ROUTE_NOT_FOUND",
        `There is no route ${req.method} ${req.path}. /openapi.json lists them.`,
      );
    }),
  );
  return app;
}

/** Every other method of the paths so far. */
function refuseOtherMethods(app: Hono, handler: RouteHandler): void {
  const known = Map.groupBy(app.routes, ({ path }) => path);
  for (const [path, routes] of known) {
    // These match every path, so they do not show that the address exists.
    if (path === "/*" || path.includes("/:file")) continue;
    const methods = new Set(routes.map(({ method }) => method));
    const allow = [...methods, ...(methods.has("GET") ? ["HEAD"] : []), "OPTIONS"].join(", ");
    app.all(path, ({ req }) =>
      handler.guard.plain(req.raw, () => {
        throw new TurnlogError(
          "METHOD_NOT_ALLOWED",
          `${req.path} has no ${req.method}. It takes ${allow}.`,
          { details: { allow } },
        );
      }),
    );
  }
}

async function withoutBody(answer: Response): Promise<Response> {
  await answer.body?.cancel();
  return new Response(null, answer);
}

function pathOf({ path }: Route): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}

/** The table of routes, in the order in which they are tried. */
function routes({
  studio,
  isReadOnly,
}: Pick<ServerSettings, "studio" | "isReadOnly">): readonly Route[] {
  const folds = new MessageFolds();
  return [
    ...chatRoutes(folds),
    ...agUiRoutes(folds),
    ...sessionRoutes(),
    ...catalogueRoutes(),
    ...eventRoutes(),
    ...approvalRoutes(),
    ...transferRoutes(),
    ...blobRoutes(),
    ...messageRoutes(),
    ...logRoutes(),
    ...(studio ? studioRoutes(!isReadOnly) : []),
  ];
}

// The OpenAPI 3.1 description of the routes, made of their schemas. Pure.

/** The description of the routes, as `/openapi.json` returns it. */
function describeRoutes(routes: readonly Route[], hasToken: boolean): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const one of routes) (paths[one.path] ??= {})[one.method] = operation(one, hasToken);
  return {
    openapi: "3.1.0",
    info: { title: "turnlog", version: "1", description: "Durable LLM agent sessions." },
    security: hasToken ? [{ token: [] }] : [],
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Problem: jsonSchemaOf(problemSchema) },
      responses: {
        Problem: {
          description: "A refusal or a failure.",
          content: {
            "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
          },
        },
      },
    },
    paths,
  };
}

const problemSchema = z.object({
  type: z.literal("about:blank"),
  title: z.string(),
  status: z.int(),
  code: z.string().describe("A stable code for programs to switch on."),
  detail: z.string(),
  session: z.string().optional(),
  position: z.int().optional(),
  details: z.unknown().optional(),
});

function operation(
  { name, path, method, summary, query, body, takesBody, answer, status, about }: Route,
  hasToken: boolean,
): JsonValue {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]): JsonObject => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const fields: Readonly<Record<string, z.core.$ZodType>> = query.shape;
  const inQuery = Object.entries(fields).map(([name, schema]): JsonObject => ({
    name,
    in: "query",
    required: !(schema instanceof z.ZodType && schema.safeParse(undefined).success),
    schema: jsonSchemaOf(schema),
  }));
  const content =
    answer.kind === "json"
      ? { "application/json": { schema: jsonSchemaOf(answer.schema) } }
      : { [answer.mediaType]: { schema: { type: "string", description: answer.words } } };
  const problem = { $ref: "#/components/responses/Problem" };
  return {
    operationId: name,
    summary,
    parameters: [...inPath, ...inQuery],
    ...(takesBody
      ? {
          requestBody: {
            required: !body.safeParse(undefined).success,
            content: { "application/json": { schema: jsonSchemaOf(body) } },
          },
        }
      : {}),
    responses: {
      [status]: { description: summary, content },
      400: problem,
      ...(hasToken ? { 401: problem } : {}),
      403: problem,
      // What is named may be missing.
      ...(path.includes("{") || about({}) === undefined ? { 404: problem } : {}),
      ...(method === "get" ? {} : { 409: problem }),
      ...(method === "post" ? { 413: problem } : {}),
      429: problem,
      default: problem,
    },
  };
}

function jsonSchemaOf(schema: z.core.$ZodType): JsonObject {
  return jsonObjectSchema.parse(
    // `~standard` is for programs, and no JSON.
    JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }))),
  );
}
