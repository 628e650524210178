/**
 * The studio over the sessions of another process: its page and its sign-in are here, and each request for
 * sessions is forwarded to that process.
 */

import { firstAbort, streamOf } from "../shared/index.ts";
import type { Server } from "./create-server.ts";
import { addStudioPages } from "./studio-pages.ts";
import { RequestGuard } from "./request-guard.ts";
import { problemResponse } from "./problems/problem.ts";
import { listening, type NodeServer, type ServeOptions } from "./serve-node.ts";
import { serverSettings } from "./server-options.ts";

/** The headers that the studio sends and a route reads. The cookie stays here. */
const passed = ["accept", "content-type", "idempotency-key", "last-event-id"] as const;

/** @param ask - Sends a request to the other process, which has the studio's routes. */
export async function serveElsewhere(
  ask: (request: Request) => Promise<Response>,
  { port, onError }: Required<Pick<ServeOptions, "port" | "onError">>,
): Promise<NodeServer> {
  const settings = serverSettings({ studio: true, onError });
  const closing = new AbortController();
  const guard = new RequestGuard(settings, closing.signal);
  const { Hono } = await import("hono");
  const app = new Hono();
  addStudioPages(app, guard);
  app.all("/api/*", ({ req }) =>
    guard.plain(req.raw, async () => {
      const ends = firstAbort(req.raw.signal, closing.signal);
      try {
        const { body, headers, status } = await ask(passedOn(req.raw, ends.signal));
        return new Response(body && streamOf(withEnd(body, ends)), { status, headers });
      } catch (error) {
        ends[Symbol.dispose]();
        throw error;
      }
    }),
  );
  const server: Omit<Server, "upgrade"> = {
    token: settings.token,
    studioPath: () => guard.studioPath(),
    fetch: async (request) => {
      try {
        return await app.fetch(request);
      } catch (error) {
        onError(error);
        return problemResponse(error);
      }
    },
    // The other process asks who may.
    revoke: async () => {},
    close: (reason = "the server was closed") => closing.abort(reason),
  };
  const host = "127.0.0.1";
  const { stallMs } = settings;
  const listen = { port, host, connections: 1_000, requestMs: 60_000, stallMs, onError };
  return await listening(server, undefined, listen);
}

/** A body whose request is over when it has been read. */
async function* withEnd(
  body: ReadableStream<Uint8Array>,
  ends: Disposable,
): AsyncGenerator<Uint8Array> {
  using _ = ends;
  yield* body;
}

function passedOn({ url, method, headers, body }: Request, signal: AbortSignal): Request {
  const given = passed.flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Request(url, {
    method,
    headers: given,
    signal,
    ...(body === null ? {} : { body, duplex: "half" }),
  });
}
