/** A server of Node that listens: HTTP by @hono/node-server over {@link createServer}. */

import {
  createServer as createHttpServer,
  type Server as HttpServer,
  STATUS_CODES,
  type IncomingMessage,
} from "node:http";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import type { Http2Bindings, HttpBindings } from "@hono/node-server";
import { TurnlogError } from "../events/index.ts";
import type { Runtime } from "../runtime/index.ts";
import { after, optionalPackage } from "../shared/index.ts";
import { check, many, milliseconds, name, optionsOf } from "../validation/index.ts";
import { serverCore, type Server, type ServerCore } from "./create-server.ts";
import { isLoopbackName } from "./security/access.ts";
import { isEventStream } from "./streams/event-stream.ts";
import { serverFields, type ServerOptions, type ServerSettings } from "./server-options.ts";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import type { ServerSocket } from "./sockets/server-socket.ts";

/**
 * Options of {@link serveNode}.
 * @example
 * const server = await serveNode(runtime, { port: 4400, token: "secret" });
 */
export interface ServeOptions extends ServerOptions {
  /** Default: 4400. 0 takes a free port. */
  readonly port?: number;
  /** The address to listen at. Default: `127.0.0.1`, which only this machine can reach. */
  readonly host?: string;
  /** Connections that may be open at once; later ones are closed. Default: 10,000. */
  readonly connections?: number;
  /** Milliseconds within which a whole request must arrive. Default: 60,000. */
  readonly requestMs?: number;
}

/**
 * A server that listens.
 * @example
 * const server: NodeServer = await serveNode(runtime);
 * process.once("SIGTERM", () => void server.close());
 */
export interface NodeServer extends AsyncDisposable {
  /** The address of the server, for instance `http://127.0.0.1:4400`. */
  readonly url: string;
  readonly port: number;
  readonly token: string | undefined;
  /** The address that signs a browser in to the studio, as `studioPath` of {@link createServer}. */
  readonly studioUrl: () => string;
  /** As that of {@link createServer}. */
  readonly revoke: Server["revoke"];
  /**
   * Refuses new requests, ends streams with a comment that says why, and waits until all answers are sent, for at
   * most `graceMs` (default 5,000). The runtime stays open.
   */
  readonly close: (reason?: string, graceMs?: number) => Promise<void>;
}

const serveSchema = optionsOf<ServeOptions>(
  { ...serverFields, port: many, host: name, connections: many, requestMs: milliseconds },
  {},
);

/**
 * Serves the sessions of a runtime on a port of this machine.
 * @throws TurnlogError `INVALID_INPUT`, `PACKAGE_MISSING`; the system's error if the port is taken
 * @example
 * const server = await serveNode(runtime, { port: 4400 });
 * console.log(server.url, server.token);
 */
export async function serveNode(runtime: Runtime, options: ServeOptions = {}): Promise<NodeServer> {
  check(serveSchema, options, "serveNode", { name: "options" });
  const {
    port = 4400,
    host = "127.0.0.1",
    connections = 10_000,
    requestMs = 60_000,
    ...rest
  } = options;
  if (rest.token === false && rest.authorize === undefined && !isLoopbackName(host)) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `serveNode: without a token the server may listen only at this machine's own address, not at ${host}. Set a token or \`authorize\`, or leave \`host\` out.`,
      { details: { option: "token" } },
    );
  }
  const hosts = rest.hosts ?? ["localhost", "127.0.0.1", "[::1]", ...ownName(host)];
  const core = serverCore(runtime, { ...rest, hosts });
  const { stallMs, onError } = core.settings;
  const listen = { port, host, connections, requestMs, stallMs, onError };
  return await listening(core.server, upgrades(core), listen);
}

type ListenSettings = Required<
  Omit<ServeOptions, Exclude<keyof ServerOptions, "stallMs" | "onError">>
>;
type Bindings = HttpBindings | Http2Bindings;
type Upgrades = ReturnType<typeof upgrades>;

/** Answers the requests to a port by a server, until it is closed. */
export async function listening(
  core: Omit<Server, "upgrade">,
  upgrade: Upgrades | undefined,
  { port, host, connections, requestMs, stallMs, onError }: ListenSettings,
): Promise<NodeServer> {
  const { getRequestListener } = await optionalPackage(
    "@hono/node-server",
    "serveNode",
    () => import("@hono/node-server"),
  );
  const fetch = async (request: Request, { incoming, outgoing }: Bindings): Promise<Response> => {
    const answer = withReportedErrors(await core.fetch(request), (error) => {
      if (!outgoing.destroyed) onError(error);
      outgoing.destroy();
    });
    // Node destroys a connection whose client reads nothing for this long, but a stream of events has quiet
    // times.
    if (!isEventStream(answer)) incoming.socket.setTimeout(stallMs);
    return answer;
  };
  const listener = getRequestListener(fetch, { overrideGlobalObjects: false });
  const server = createHttpServer(
    {
      requestTimeout: requestMs,
      headersTimeout: Math.min(requestMs, 20_000),
      connectionsCheckingInterval: Math.max(50, Math.min(requestMs / 2, 5_000)),
    },
    (incoming, outgoing) => void listener(incoming, outgoing),
  );
  server.maxConnections = connections;
  if (upgrade !== undefined) server.on("upgrade", upgrade);
  server.listen(port, host);
  await once(server, "listening");
  const used = portOf(server);
  const close = async (reason?: string, graceMs = 5_000): Promise<void> => {
    core.close(reason);
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    // Connections become idle when their answers end.
    const tidying = setInterval(() => server.closeIdleConnections(), 20);
    using _ = after(graceMs, () => server.closeAllConnections());
    await closed.finally(() => clearInterval(tidying));
  };
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${used}`;
  return {
    url,
    studioUrl: () => `${url}${core.studioPath()}`,
    port: used,
    token: core.token,
    revoke: core.revoke,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

/** The answer, whose body reports its error and ends: hono would print it with its stack. */
function withReportedErrors(answer: Response, report: (error: unknown) => void): Response {
  const { body, status, headers } = answer;
  // JSON is there as a whole.
  if (body === null || /^application\/(?:problem\+)?json\b/.test(headers.get("content-type") ?? ""))
    return answer;
  const reader: ReadableStreamDefaultReader<Uint8Array> = body.getReader();
  // Immediately, even while nobody is reading.
  reader.closed.catch(report);
  const pieces = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          report(error);
          controller.close();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(pieces, { status, headers });
}

/** The name that clients reach an address by; a wildcard address has none. */
function ownName(host: string): readonly string[] {
  if (host === "0.0.0.0" || host === "::" || isLoopbackName(host)) return [];
  return [isIPv6(host) ? `[${host}]` : host];
}

function portOf(server: HttpServer): number {
  const address = server.address();
  if (address === null || typeof address === "string")
    throw new TurnlogError("INVALID_INPUT", "serveNode: the server does not listen at a port.");
  return address.port;
}

// WebSockets of a server of Node, by ws. Clients that do not answer pings are dropped.

/** The listener for `upgrade` of a server. ws is loaded at the first one. */
function upgrades({
  server,
  settings,
}: Pick<ServerCore, "server" | "settings">): (
  incoming: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => void {
  let webSockets: Promise<WebSocketServer> | undefined;
  const upgrade = async (
    incoming: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> => {
    const admitted = await server.upgrade(requestOf(incoming));
    if (admitted instanceof Response) return await refuse(socket, admitted);
    try {
      webSockets ??= webSocketServer(settings.limits.frameBytes);
      const accepting = await webSockets;
      // ws ends the connection itself if the handshake is wrong.
      socket.once("close", admitted.close);
      accepting.handleUpgrade(incoming, socket, head, (connection) => {
        serve(connection, admitted, settings);
      });
    } catch (error) {
      admitted.close();
      throw error;
    }
  };
  return (incoming, socket, head) => {
    socket.on("error", () => {});
    upgrade(incoming, socket, head).catch((error: unknown) => {
      settings.onError(error);
      socket.destroy();
    });
  };
}

async function refuse(socket: Duplex, answer: Response): Promise<void> {
  const { status, headers } = answer;
  const body = await answer.text();
  const type = headers.get("content-type") ?? "text/plain";
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Error"}\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

async function webSocketServer(maxPayload: number): Promise<WebSocketServer> {
  const ws = await optionalPackage("ws", "The WebSocket of serveNode", () => import("ws"));
  return new ws.WebSocketServer({
    noServer: true,
    maxPayload,
    handleProtocols: (protocols) => (protocols.has("turnlog") ? "turnlog" : false),
  });
}

function requestOf({ url = "/", headers }: IncomingMessage): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  const { host } = headers;
  return new Request(`http://${URL.canParse(`http://${host}`) ? host : "invalid"}${url}`, {
    headers: pairs,
  });
}

function serve(
  connection: WebSocket,
  admitted: ServerSocket,
  { heartbeatMs, stallMs }: ServerSettings,
): void {
  let isAlive = true;
  /**
   * Counts pings without an answer instead of time, so that a server that gets no CPU does not count its own
   * delay.
   */
  let unanswered = 0;
  const beat = setInterval(
    () => {
      unanswered = isAlive ? 0 : unanswered + 1;
      // A client that takes nothing does not answer either.
      if (unanswered * heartbeatMs > heartbeatMs + stallMs) return connection.terminate();
      isAlive = false;
      connection.ping();
    },
    Math.max(1, heartbeatMs),
  );
  beat.unref();
  admitted.open({
    close: (code, reason) => connection.close(code, reason),
    send: (text) =>
      new Promise<void>((resolve, reject) => {
        connection.send(text, (error) => {
          if (error) reject(error);
          else resolve();
        });
      }),
  });
  connection.on("pong", () => {
    isAlive = true;
  });
  connection.on("error", () => {});
  connection.on("message", (data, isBinary) => {
    isAlive = true;
    const bytes = Array.isArray(data) ? Buffer.concat(data) : data;
    admitted.message(isBinary ? bytes : new TextDecoder().decode(bytes));
  });
  connection.on("close", () => {
    clearInterval(beat);
    admitted.close();
  });
}
