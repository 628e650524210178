/** WebSockets of a server of Node, by ws: `/ws?sessionId=<id>`. */

import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { TurnlogError } from "../events/index.ts";
import { optionalPackage } from "../shared/index.ts";
import type { Gates, Upgrade } from "./gates.ts";
import { problemOf } from "./problems/index.ts";
import type { ServerSettings } from "./server-options.ts";
import { serveSocket } from "./sockets/index.ts";

interface SocketHost {
  readonly gates: Gates;
  readonly settings: ServerSettings;
  readonly closing: AbortSignal;
}

/** The listener for `upgrade` of a server. ws is loaded at the first one. */
export function upgrades({
  gates,
  settings,
  closing,
}: SocketHost): (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void {
  let server: Promise<WebSocketServer> | undefined;
  const upgrade = async (
    incoming: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> => {
    const request = requestOf(incoming);
    if (new URL(request.url).pathname !== "/ws") {
      throw new TurnlogError("ROUTE_NOT_FOUND", "WebSockets are served at /ws?sessionId=<id>.");
    }
    const admitted = await gates.upgrade(request);
    try {
      server ??= webSocketServer(settings.limits.frameBytes);
      const webSockets = await server;
      // ws ends the connection itself if the handshake is wrong.
      socket.once("close", () => admitted[Symbol.dispose]());
      webSockets.handleUpgrade(incoming, socket, head, (connection) => {
        serve(connection, admitted, settings, closing);
      });
    } catch (error) {
      admitted[Symbol.dispose]();
      throw error;
    }
  };
  return (incoming, socket, head) => {
    socket.on("error", () => {});
    upgrade(incoming, socket, head).catch((error: unknown) => {
      const problem = problemOf(error);
      if (problem.status >= 500) settings.onError(error);
      const body = JSON.stringify(problem);
      socket.end(
        `HTTP/1.1 ${problem.status} ${problem.title}\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      );
    });
  };
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
  admitted: Upgrade,
  { heartbeatMs, stallMs }: ServerSettings,
  closing: AbortSignal,
): void {
  const closed = new AbortController();
  let isAlive = true;
  let silentSince = performance.now();
  const beat = setInterval(
    () => {
      const now = performance.now();
      if (isAlive) silentSince = now;
      // A client that takes nothing does not answer either.
      if (now - silentSince > heartbeatMs + stallMs) return connection.terminate();
      isAlive = false;
      connection.ping();
    },
    Math.max(1, heartbeatMs),
  );
  beat.unref();
  const end = (): void => {
    connection.close(1001, String(closing.reason).slice(0, 100));
  };
  if (closing.aborted) end();
  else closing.addEventListener("abort", end, { once: true });
  const take = serveSocket(admitted.session, admitted.call, {
    closed: closed.signal,
    close: (code, reason) => {
      connection.close(code, reason);
    },
    send: (text) =>
      new Promise((resolve, reject) => {
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
    if (isBinary) return connection.close(1003, "Frames are text.");
    const bytes = Array.isArray(data) ? Buffer.concat(data) : data;
    const text = new TextDecoder().decode(bytes);
    void take(text).catch(() => {});
  });
  connection.on("close", () => {
    clearInterval(beat);
    closing.removeEventListener("abort", end);
    closed.abort();
  });
}
