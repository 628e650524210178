/**
 * A listening socket that names the owner of a store, and hands its connections to the server of the store.
 * It ends with its process only, and keeps no process alive.
 */

import { z } from "zod";
import { createServer, connect, type Server, type Socket } from "node:net";

/** Later versions only add fields. What follows the greeting may change with the version. */
const PROTOCOL = "turnlog/1";

export interface Greeting {
  readonly protocol: string;
  readonly pid: number;
  readonly host: string;
  readonly boot: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Unique for each opening. */
  readonly nonce: string;
  /** The version of the protocol that is spoken after the greeting. Absent: the connection ends with it. */
  readonly serves?: string | undefined;
  /** Whether the owner is about to leave the store or to serve it: it reads, opens or closes the store. */
  readonly isPassing?: boolean | undefined;
}

/** The version of the protocol after the greeting: the server's HTTP, and the routes of `src/server/store`. */
const STORE_PROTOCOL = "1";

/** Serves a store to other processes. Without `accept`, its socket only says who the owner is. */
export interface StoreService {
  /** Called with a connection after its greeting, which names the protocol. */
  accept?: ((socket: Socket) => void) | undefined;
  /** As in {@link Greeting}, while there is no `accept`. */
  isPassing?: boolean;
}

const greetingSchema: z.ZodType<Greeting> = z.object({
  protocol: z.string().startsWith("turnlog/"),
  pid: z.int().positive(),
  host: z.string(),
  boot: z.string(),
  startedAt: z.string(),
  nonce: z.string(),
  serves: z.string().optional(),
  isPassing: z.boolean().optional(),
});

export function greetingOf(owner: Omit<Greeting, "protocol">): Greeting {
  const { pid, host, boot, startedAt, nonce } = owner;
  return { protocol: PROTOCOL, pid, host, boot, startedAt, nonce };
}

/** `none`: there is no socket. `refused`: no process of this kernel listens on it. */
export type Answer =
  | { readonly kind: "none" | "refused" }
  /** Without a greeting if the owner is too busy to send one. */
  | { readonly kind: "alive"; readonly greeting: Greeting | undefined };

/** Milliseconds to wait for a greeting. An owner without one still counts as alive. */
const PATIENCE = 1000;
export const LONGEST_GREETING = 4096;

/** @throws the system's error, `EADDRINUSE` where somebody listens already */
export async function listenAt(
  address: string,
  greeting: Greeting,
  service: StoreService = {},
): Promise<Server> {
  const server = createServer((socket) => {
    // The reader may have gone.
    socket.on("error", () => {});
    socket.unref();
    const { accept, isPassing = false } = service;
    if (accept === undefined)
      return void socket.end(lineOf(isPassing ? { ...greeting, isPassing } : greeting));
    socket.write(lineOf({ ...greeting, serves: STORE_PROTOCOL }));
    accept(socket);
  });
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // `exclusive`: workers of `cluster` would share one socket, and each would believe to own the
    // store.
    server.listen({ path: address, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return server;
}

function lineOf(greeting: Greeting): string {
  return `${JSON.stringify(greeting)}\n`;
}

function isAnswer({ code }: NodeJS.ErrnoException): boolean {
  return code === "EAGAIN" || code === "ECONNRESET" || code === "EPIPE";
}

/** @throws the system's error when it does not show whether somebody listens */
export async function askAt(address: string): Promise<Answer> {
  return await new Promise((resolve, reject) => {
    const socket = connect(address);
    let text = "";
    let isConnected = false;
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ kind: "alive", greeting: readGreeting(text.split("\n", 1)[0] ?? "") });
    };
    const timer = setTimeout(end, PATIENCE);
    socket.setEncoding("utf8");
    socket.on("connect", () => {
      isConnected = true;
    });
    socket.on("data", (piece: string) => {
      text += piece;
      if (text.includes("\n") || text.length > LONGEST_GREETING) end();
    });
    socket.on("end", end);
    socket.on("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (isConnected || isAnswer(error)) end();
      else if (error.code === "ENOENT") resolve({ kind: "none" });
      else if (error.code === "ECONNREFUSED") resolve({ kind: "refused" });
      else reject(error);
    });
  });
}

export function readGreeting(line: string): Greeting | undefined {
  try {
    return greetingSchema.safeParse(JSON.parse(line), { jitless: true }).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
