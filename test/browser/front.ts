/** What is between the browser and the server: it gives the page, passes on the rest, and loses connections. */

import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export class Front {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((asked, answer) => {
    this.#serve(asked, answer);
  });
  /** By the path of its page. */
  readonly #scripts: ReadonlyMap<string, string>;
  /** The port of the server behind. */
  target = 0;
  #port = 0;

  constructor(scripts: ReadonlyMap<string, string>) {
    this.#scripts = scripts;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.#sockets.delete(socket));
    });
    this.#server.on("upgrade", (asked, socket) => this.#upgrade(asked, socket));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    this.#port = typeof address === "object" ? (address?.port ?? 0) : 0;
  }

  /** Breaks every connection of the browser. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.drop();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Passes on a WebSocket, byte by byte. */
  #upgrade({ method, url, rawHeaders }: IncomingMessage, socket: Duplex): void {
    const lines = rawHeaders.map((text, index) => text + (index % 2 === 0 ? ": " : "\r\n"));
    const behind = connect(this.target, "127.0.0.1");
    behind.write(`${method} ${url} HTTP/1.1\r\n${lines.join("")}\r\n`);
    socket.pipe(behind).pipe(socket);
    behind.on("error", () => socket.destroy());
    behind.on("close", () => socket.destroy());
    socket.on("close", () => behind.destroy());
  }

  #serve(asked: IncomingMessage, answer: ServerResponse): void {
    const { method = "GET", url: path = "/", headers } = asked;
    if (!path.startsWith("/api/")) {
      const { pathname } = new URL(path, this.url);
      const script = this.#scripts.get(pathname);
      answer.setHeader("content-type", "text/html; charset=utf-8");
      answer.end(`<body><script type="module">${script ?? ""}</script>`);
      return;
    }
    const behind = request({
      host: "127.0.0.1",
      port: this.target,
      method,
      path,
      // As an application that knows its user by a cookie.
      headers: { authorization: "Bearer token", ...headers },
    });
    behind.on("response", (from) => {
      answer.writeHead(from.statusCode ?? 502, from.headers);
      answer.flushHeaders();
      from.pipe(answer);
      from.on("error", () => answer.destroy());
      from.on("close", () => {
        if (!from.complete) answer.destroy();
      });
    });
    behind.on("error", () => asked.socket.destroy());
    answer.on("close", () => behind.destroy());
    asked.pipe(behind);
  }
}
