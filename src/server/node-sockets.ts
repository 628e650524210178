/** WebSockets of a server of Node, by ws. Clients that do not answer pings are dropped. */

import { STATUS_CODES, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { optionalPackage } from "../shared/index.ts";
import type { ServerCore } from "./create-server.ts";
import type { ServerSettings } from "./server-options.ts";
import type { ServerSocket } from "./sockets/server-socket.ts";

/** The listener for `upgrade` of a server. ws is loaded at the first one. */
export function upgrades({
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
  /** Pings without an answer: a server that gets no time does not count its own delay. */
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
