/** The process that has a store open: its sessions by the client, its log, and what keeps the store. */

import { resolve } from "node:path";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createClient, type Client } from "../../client/index.ts";
import { TurnlogError } from "../../events/index.ts";
import { connectToStore, type OwnerConnection, type StoreLog } from "../../store/leveldb/index.ts";
import { OwnerLog } from "./owner-log.ts";

export interface StoreOwner {
  readonly pid: number;
  /** Its sessions, over the socket. */
  readonly client: Client;
  /** Asks its server. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Its log, with events as they are stored. For reading; every change is refused. */
  readonly log: StoreLog;
  /** Sends a command about the store. */
  post<Answer>(path: string, body: object): Promise<Answer>;
}

/** The protocol that this release speaks over the socket. */
const PROTOCOL = "1";

/** Milliseconds in which an owner answers first; one that was stopped does not. Then it may be busy for any time. */
const FIRST_ANSWER_MS = 10_000;

/**
 * The owner of a store, if one is alive, shares it, and answers within 10 seconds.
 * @throws TurnlogError `LOG_LOCKED` if it speaks another version of the protocol
 */
export async function storeOwner(folder: string): Promise<StoreOwner | undefined> {
  const dir = resolve(folder);
  const first = await connectToStore(dir, AbortSignal.timeout(FIRST_ANSWER_MS));
  if (first === undefined) return undefined;
  first.socket.destroy();
  const { pid, serves } = first.greeting;
  if (serves !== PROTOCOL) {
    throw new TurnlogError(
      "LOG_LOCKED",
      `The store in ${dir} is open in process ${pid}, which shares it by version ${serves} of the protocol; this release speaks version ${PROTOCOL}. Use the same release, or close it there.`,
      { details: { pid } },
    );
  }
  const connect = async (signal: AbortSignal): Promise<OwnerConnection["socket"]> => {
    const { socket } = (await connectToStore(dir, signal)) ?? {};
    if (socket !== undefined) return socket;
    signal.throwIfAborted();
    throw new TurnlogError(
      "LOG_CLOSED",
      `Process ${pid} has closed the store in ${dir} meanwhile. Run the command again.`,
      { details: { pid } },
    );
  };
  const fetch = ownerFetch(connect);
  const client = createClient({
    baseUrl: "http://localhost",
    fetch,
    // A stream whose process has ended is over.
    patienceMs: 0,
  });
  const post = async <Answer>(path: string, body: object): Promise<Answer> =>
    await client.http.json({ method: "POST", path, body });
  return { pid, client, fetch, log: new OwnerLog(dir, pid, client), post };
}

/** @param connect - Opens a connection whose greeting was read. */
function ownerFetch(
  connect: (signal: AbortSignal) => Promise<Socket>,
): (request: Request) => Promise<Response> {
  return async ({ url, method, headers, body, signal }) => {
    signal.throwIfAborted();
    const socket = await connect(signal);
    const { pathname, search } = new URL(url);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    // Loaded for a store in use only: an import of it loads a client of the web, which takes 30 ms.
    const { request } = await import("node:http");
    const outgoing = request(
      {
        method,
        path: pathname + search,
        headers: { host: "localhost", ...Object.fromEntries(headers) },
        createConnection: () => socket,
        signal,
      },
      resolve,
    );
    outgoing.once("error", reject);
    if (body === null) outgoing.end();
    else pipeline(Readable.fromWeb(body), outgoing).catch(reject);
    const incoming = await promise;
    // Errors of the rest are those of the answer's body.
    outgoing.on("error", () => {});
    const { statusCode = 500, rawHeaders } = incoming;
    const given = rawHeaders.flatMap((name, index): [string, string][] =>
      index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ""]] : [],
    );
    const isEmpty = statusCode === 204 || statusCode === 304;
    return new Response(isEmpty ? null : Readable.toWeb(incoming), {
      status: statusCode,
      headers: given,
    });
  };
}
