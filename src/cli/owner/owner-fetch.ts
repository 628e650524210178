/** `fetch` over the socket of a store's owner: one connection for each request. */

import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** @param connect - Opens a connection whose greeting was read. */
export function ownerFetch(
  connect: () => Promise<Socket>,
): (request: Request) => Promise<Response> {
  return async ({ url, method, headers, body, signal }) => {
    signal.throwIfAborted();
    const socket = await connect();
    const { pathname, search } = new URL(url);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const outgoing = httpRequest(
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
