/** Connects to the owner of a store, to use the store through it. Called for each request. */

import { addAbortListener } from "node:events";
import { connect, type Socket } from "node:net";
import { type Greeting, LONGEST_GREETING, readGreeting } from "./owner-socket.ts";
import { withSocketPath } from "./socket-address.ts";

export interface OwnerConnection {
  readonly greeting: Greeting;
  /** Silent until the first request. */
  readonly socket: Socket;
}

/**
 * Connects to the socket at a path. An owner that is busy greets late: it is waited for as long as it lives.
 * @returns undefined if nobody listens, if the owner serves nothing, or if the signal aborts first.
 * @throws the system's error when the result is unclear
 */
export async function connectToOwner(
  path: string,
  signal: AbortSignal,
): Promise<OwnerConnection | undefined> {
  return await withSocketPath(path, async (short) => await greeted(connect(short), signal));
}

async function greeted(socket: Socket, signal: AbortSignal): Promise<OwnerConnection | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<OwnerConnection | undefined>();
  let text = "";
  const read = (bytes: Buffer): void => {
    text += bytes.toString("utf8");
    if (!text.includes("\n") && text.length <= LONGEST_GREETING) return;
    const greeting = readGreeting(text.split("\n", 1)[0] ?? "");
    resolve(greeting?.serves === undefined ? undefined : { greeting, socket });
  };
  const close = (): void => resolve(undefined);
  const fail = (error: NodeJS.ErrnoException): void => {
    const isGone = ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(error.code ?? "");
    if (isGone) resolve(undefined);
    else reject(error);
  };
  socket.on("data", read).on("close", close).on("error", fail);
  using _ = addAbortListener(signal, close);
  const connection = await promise;
  socket.off("data", read).off("close", close).off("error", fail);
  if (connection === undefined) socket.destroy();
  return connection;
}
