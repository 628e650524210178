/** Who has a store open, a process of this machine or a server: its sessions by the client, and its log. */

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
  /** In the middle of a sentence: "process 12", "the server at https://…". */
  readonly name: string;
  /** Undefined for a server. */
  readonly pid?: number;
  /** Its sessions. */
  readonly client: Client;
  /** Asks the server of whichever process has the store open by then. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** Its log, with events as they are stored. For reading; every change is refused. */
  readonly log: StoreLog;
  /** The same; once the process has closed the store, calls go to the log that `reopen` opens. */
  logOr(reopen: () => Promise<StoreLog>): StoreLog;
  /** Sends a command about the store. A server takes none. */
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
  const { pid, serves, nonce } = first.greeting;
  if (serves !== PROTOCOL) {
    throw new TurnlogError(
      "LOG_LOCKED",
      `The store in ${dir} is open in process ${pid}, which shares it by version ${serves} of the protocol; this release speaks version ${PROTOCOL}. Use the same release, or close it there.`,
      { details: { pid } },
    );
  }
  const gone = (cause?: unknown): TurnlogError => ownerGone(pid, cause);
  const fetchFrom = (isMeant: (nonce: string) => boolean): StoreOwner["fetch"] => {
    const connect = async (signal: AbortSignal): Promise<Socket> => {
      const reached = await connectToStore(dir, signal);
      if (reached.kind === "serving") {
        if (isMeant(reached.greeting.nonce)) return reached.socket;
        reached.socket.destroy();
      }
      signal.throwIfAborted();
      throw gone();
    };
    return ownerFetch(connect, gone);
  };
  const fetch = fetchFrom(() => true);
  const client = createClient({
    baseUrl: "http://localhost",
    // The next process has an agent of its own: a chat must not continue with it in silence.
    fetch: fetchFrom((met) => met === nonce),
    // A failed connection shows that the process has ended; until then it is only busy.
    patienceMs: Number.POSITIVE_INFINITY,
  });
  const post = async <Answer>(path: string, body: object): Promise<Answer> =>
    await client.http.json({ method: "POST", path, body });
  const name = `process ${pid}`;
  const refuse = (): TurnlogError =>
    new TurnlogError(
      "LOG_LOCKED",
      `The store in ${dir} is open in ${name}, which alone writes to it. From here you can only do what that process offers.`,
      { details: { pid } },
    );
  const served = { dir, client, path: "/store/log", gone, refuse };
  const logOr = (reopen?: () => Promise<StoreLog>): StoreLog => new OwnerLog(served, reopen);
  return { name, pid, client, fetch, log: logOr(), logOr, post };
}

/** A turnlog server, whose routes are for everyone with its token. Makes no request. */
export function serverOwner({
  url,
  token,
}: {
  readonly url: string;
  readonly token?: string | undefined;
}): StoreOwner {
  const name = `the server at ${url}`;
  const client = createClient({
    baseUrl: url,
    ...(token === undefined ? {} : { token }),
    fetch: async (request) => {
      const answer = await fetch(request);
      if (answer.status !== 401 || token !== undefined || answer.redirected) return answer;
      await answer.body?.cancel();
      throw new TurnlogError("UNAUTHORIZED", `The server at ${url} needs a token: TURNLOG_TOKEN.`);
    },
  });
  const refuse = (): TurnlogError =>
    new TurnlogError(
      "COMMAND_REFUSED",
      `The log of ${name} can only be read. Its sessions are changed by their own commands.`,
    );
  const gone = (cause?: unknown): TurnlogError =>
    TurnlogError.isInstance(cause)
      ? cause
      : new TurnlogError(
          "SERVER_UNREACHABLE",
          `An answer of ${name} was cut off. Run the command again.`,
          { cause },
        );
  const log = new OwnerLog({ dir: url, client, path: "/api/log", gone, refuse });
  return {
    name,
    client,
    fetch: async ({ url: asked, method, headers, body, signal }) => {
      const { pathname, search } = new URL(asked);
      const given = new Headers(headers);
      if (token !== undefined) given.set("authorization", `Bearer ${token}`);
      return await fetch(url.replace(/\/$/, "") + pathname + search, {
        method,
        headers: given,
        signal,
        ...(body === null ? {} : { body, duplex: "half" }),
      });
    },
    log,
    logOr: () => log,
    post: () => Promise.reject(refuse()),
  };
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
