/** The server: a web-standard `fetch` over the routes. Each request passes the same gates. */

import type { Hono } from "hono";
import { TurnlogError } from "../events/index.ts";
import type { Runtime } from "../runtime/index.ts";
import { describeRoutes } from "./description.ts";
import { Gates } from "./gates.ts";
import { problemResponse } from "./problems/index.ts";
import type { Route } from "./route/index.ts";
import { routes } from "./routes.ts";
import { serverSettings, type ServerOptions, type ServerSettings } from "./server-options.ts";

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
  /**
   * The path that signs a browser in to the studio, once and within ten minutes. `/` without a token.
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

/** A server with its parts, for what listens. */
interface ServerCore {
  readonly server: Server;
  readonly gates: Gates;
  readonly settings: ServerSettings;
  readonly closing: AbortSignal;
}

/** @param more - Routes behind those of every server. */
export function serverCore(
  runtime: Runtime,
  options: ServerOptions,
  more: readonly Route[] = [],
): ServerCore {
  const settings = serverSettings(options);
  const closing = new AbortController();
  const gates = new Gates(runtime, settings, closing.signal);
  let app: Promise<Hono> | undefined;
  const server: Server = {
    token: settings.token,
    studioPath: () => gates.studioPath(),
    fetch: async (request) => {
      try {
        app ??= application(gates, settings, more);
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
  return { server, gates, settings, closing: closing.signal };
}

async function application(
  gates: Gates,
  settings: ServerSettings,
  more: readonly Route[],
): Promise<Hono> {
  // Bundled into the package, and loaded with the first request.
  const { Hono } = await import("hono");
  const app = new Hono();
  const all = [...routes(settings), ...more];
  for (const one of all)
    app.on(one.method.toUpperCase(), pathOf(one), ({ req }) =>
      gates.serve(req.raw, req.param(), one),
    );
  const description = JSON.stringify(describeRoutes(all));
  app.get("/openapi.json", ({ req }) =>
    gates.plain(req.raw, () => new Response(description, jsonType)),
  );
  app.get("/healthz", ({ req }) => gates.open(req.raw, () => Response.json({ status: "ok" })));
  app.get("/readyz", ({ req }) => gates.open(req.raw, () => gates.readiness()));
  app.get("/ws", ({ req }) =>
    gates.plain(req.raw, () => {
      throw new TurnlogError(
        "UPGRADE_REQUIRED",
        "This address speaks WebSocket, with a server of `serveNode`. Use server-sent events elsewhere: GET /api/sessions/<id>/events.",
      );
    }),
  );
  if (settings.studio) {
    app.post("/api/studio/sign-in", ({ req }) => gates.signIn(req.raw));
    app.get("/:file?", ({ req }) => gates.studioPage(req.raw));
    app.get("/assets/:file", ({ req }) => gates.studioPage(req.raw));
  }
  app.options("*", ({ req }) => gates.preflight(req.raw));
  app.notFound(({ req }) =>
    gates.plain(req.raw, () => {
      throw new TurnlogError(
        "ROUTE_NOT_FOUND",
        `There is no route ${req.method} ${req.path}. /openapi.json lists them.`,
      );
    }),
  );
  return app;
}

const jsonType = { headers: { "content-type": "application/json" } };

function pathOf({ path }: Route): string {
  return path.replaceAll(/\{(\w+)\}/g, ":$1");
}
