/** Connects to the owner of a store, to use the store through it. Called for each request. */

import { connect, type Socket } from "node:net";
import { type Greeting, LONGEST_GREETING, PATIENCE, readGreeting } from "./owner-socket.ts";
import { withSocketPath } from "./socket-address.ts";

export interface OwnerConnection {
  readonly greeting: Greeting;
  /** Silent until the first request. */
  readonly socket: Socket;
}

/**
 * Connects to the socket at a path.
 * @returns undefined if nobody listens, or the owner serves nothing.
 * @throws the system's error when the result is unclear
 */
export async function connectToOwner(path: string): Promise<OwnerConnection | undefined> {
  return await withSocketPath(path, async (short) => await greeted(connect(short)));
}

async function greeted(socket: Socket): Promise<OwnerConnection | undefined> {
  return await new Promise((resolve, reject) => {
    let text = "";
    const settle = (connection: OwnerConnection | undefined): void => {
      clearTimeout(timer);
      socket.off("data", read).off("close", close).off("error", fail);
      if (connection === undefined) socket.destroy();
      resolve(connection);
    };
    const read = (bytes: Buffer): void => {
      text += bytes.toString("utf8");
      if (!text.includes("\n") && text.length <= LONGEST_GREETING) return;
      const greeting = readGreeting(text.split("\n", 1)[0] ?? "");
      settle(greeting?.serves === undefined ? undefined : { greeting, socket });
    };
    const close = (): void => settle(undefined);
    const fail = (error: NodeJS.ErrnoException): void => {
      const isGone = ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(error.code ?? "");
      if (isGone) return settle(undefined);
      clearTimeout(timer);
      reject(error);
    };
    const timer = setTimeout(close, PATIENCE);
    socket.on("data", read).on("close", close).on("error", fail);
  });
}
