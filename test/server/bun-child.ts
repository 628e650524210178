/**
 * The server in Bun, with its WebSockets: `bun bun-child.mjs`. Prints its port, and stops when its input ends.
 * Bun's own types are not installed; what is used of them is declared here.
 */

import { createRuntime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { scriptedModel } from "../../src/public/testing.ts";

type Socket = Exclude<Awaited<ReturnType<typeof server.upgrade>>, Response>;

interface BunSocket {
  readonly data: Socket;
  readonly send: (text: string) => number;
  readonly close: (code: number, reason: string) => void;
  readonly getBufferedAmount: () => number;
}

interface BunServer {
  readonly port: number;
  readonly upgrade: (request: Request, options: { readonly data: Socket }) => boolean;
}

declare const Bun: {
  readonly serve: (options: {
    readonly port: number;
    readonly idleTimeout: number;
    readonly fetch: (request: Request, bun: BunServer) => Promise<Response | undefined>;
    readonly websocket: {
      readonly open: (socket: BunSocket) => void;
      readonly message: (socket: BunSocket, data: unknown) => void;
      readonly close: (socket: BunSocket) => void;
    };
  }) => BunServer;
};

const runtime = await createRuntime({
  memory: true,
  agent: { model: scriptedModel(() => "Hello.") },
});
const server = createServer(runtime, { token: "token" });
const { port } = Bun.serve({
  port: 0,
  // Streams are quiet for longer than Bun's 10 s.
  idleTimeout: 60,
  fetch: async (request, bun) => {
    if (request.headers.get("upgrade") !== "websocket") return await server.fetch(request);
    const socket = await server.upgrade(request);
    if (socket instanceof Response) return socket;
    if (bun.upgrade(request, { data: socket })) return undefined;
    socket.close();
    return new Response("The connection cannot be upgraded.", { status: 400 });
  },
  websocket: {
    open: (connection) =>
      connection.data.open({
        send: (text) => connection.send(text),
        close: (code, reason) => connection.close(code, reason),
        buffered: () => connection.getBufferedAmount(),
      }),
    message: ({ data: socket }, data) => socket.message(data),
    close: ({ data: socket }) => socket.close(),
  },
});
process.stdout.write(`${JSON.stringify({ port })}\n`);
process.stdin.resume().on("end", () => process.exit());
