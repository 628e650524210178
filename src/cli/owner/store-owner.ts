/** The process that has a store open: its sessions by the client, its log, and what keeps the store. */

import { resolve } from "node:path";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createClient, type Client } from "../../client/index.ts";
import { TurnlogError } from "../../events/index.ts";
import { connectToStore, reachOwner, type StoreLog } from "../../store/leveldb/index.ts";
import { ownerGone, OwnerLog } from "./owner-log.ts";

export interface StoreOwner {
  readonly pid: number;
  /** Its sessions, over the socket. */
  readonly client: Client;
  /** Asks its server. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Its log, with events as they are stored. For reading; every change is refused. */
  readonly log: StoreLog;
  /** The same; once the process has closed the store, calls go to the log that `reopen` opens. */
  logOr(reopen: () => Promise<StoreLog>): StoreLog;
  /** Sends a command about the store. */
  post<Answer>(path: string, body: object): Promise<Answer>;
}

/** The protocol that this release speaks over the socket. */
const PROTOCOL = "1";

/**
 * The owner of a store, if one is alive and shares it. It must answer the first request in time, since a stopped
 * process never answers; later it may be busy for any length of time.
 * @throws TurnlogError `LOG_LOCKED` if it does not answer within 10 seconds, or speaks another version of the protocol
 */
export async function storeOwner(folder: string): Promise<StoreOwner | undefined> {
  const dir = resolve(folder);
  const first = await reachOwner(dir);
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
  const connect = async (signal: AbortSignal): Promise<Socket> => {
    const reached = await connectToStore(dir, signal);
    if (reached.kind === "serving") return reached.socket;
    signal.throwIfAborted();
    throw ownerGone(pid);
  };
  const fetch = ownerFetch(connect, (cause) => ownerGone(pid, cause));
  const client = createClient({
    baseUrl: "http://localhost",
    fetch,
    // A failed connection shows that the process has ended; until then it is only busy.
    patienceMs: Number.POSITIVE_INFINITY,
  });
  const post = async <Answer>(path: string, body: object): Promise<Answer> =>
    await client.http.json({ method: "POST", path, body });
  const logOr = (reopen?: () => Promise<StoreLog>): StoreLog =>
    new OwnerLog(dir, pid, client, reopen);
  return { pid, client, fetch, log: logOr(), logOr, post };
}

/**
 * @param connect - Opens a connection whose greeting was read.
 * @param lost - The error for a connection that breaks before the answer.
 */
function ownerFetch(
  connect: (signal: AbortSignal) => Promise<Socket>,
  lost: (cause: unknown) => TurnlogError,
): (request: Request) => Promise<Response> {
  return async ({ url, method, headers, body, signal }) => {
    signal.throwIfAborted();
    const socket = await connect(signal);
    const { pathname, search } = new URL(url);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    // Loaded only for a store in use: importing it loads a web client, which takes 30 ms.
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
    outgoing.once("error", (error) => reject(signal.aborted ? error : lost(error)));
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
