/** Connects to the owner of a store, to use the store through it. Called for each request. */

import { addAbortListener } from "node:events";
import { connect, type Socket } from "node:net";
import { type Greeting, LONGEST_GREETING, readGreeting } from "./owner-socket.ts";
import { withSocketPath } from "./socket-address.ts";

export type OwnerConnection =
  /** The socket is silent until the first request. */
  | { readonly kind: "serving"; readonly greeting: Greeting; readonly socket: Socket }
  /** `passing`: it is about to leave the store, or to serve it. `alone`: it serves nothing. */
  | { readonly kind: "passing" | "alone"; readonly greeting: Greeting }
  /** `gone`: nobody listens. `silent`: the signal aborted before the greeting came. */
  | { readonly kind: "gone" | "silent" };

/**
 * Connects to the socket at a path. An owner that is busy greets late: it is waited for as long as it lives.
 * @throws the system's error when the result is unclear
 */
export async function connectToOwner(path: string, signal: AbortSignal): Promise<OwnerConnection> {
  return await withSocketPath(path, async (short) => await greeted(connect(short), signal));
}

async function greeted(socket: Socket, signal: AbortSignal): Promise<OwnerConnection> {
  const { promise, resolve, reject } = Promise.withResolvers<OwnerConnection>();
  let text = "";
  const read = (bytes: Buffer): void => {
    text += bytes.toString("utf8");
    if (!text.includes("\n") && text.length <= LONGEST_GREETING) return;
    const greeting = readGreeting(text.split("\n", 1)[0] ?? "");
    if (greeting === undefined) resolve({ kind: "gone" });
    else if (greeting.serves !== undefined) resolve({ kind: "serving", greeting, socket });
    else resolve({ kind: greeting.isPassing === true ? "passing" : "alone", greeting });
  };
  const close = (): void => resolve({ kind: "gone" });
  const giveUp = (): void => resolve({ kind: "silent" });
  const fail = (error: NodeJS.ErrnoException): void => {
    const isGone = ["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(error.code ?? "");
    if (isGone) close();
    else reject(error);
  };
  socket.on("data", read).on("close", close).on("error", fail);
  using _ = addAbortListener(signal, giveUp);
  const connection = await promise;
  socket.off("data", read).off("close", close).off("error", fail);
  if (connection.kind !== "serving") socket.destroy();
  return connection;
}
