// A real HTTP server on 127.0.0.1 that plays a provider: the first request gets the recorded stream (or each of
// the first ones one of several), every later one a short final answer. Keeps what it was asked; never looks at it.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { finalAnswer } from "./final-answer.ts";
import { cutIntoPieces } from "./pieces.ts";
import { formatOf, type WireRow } from "./wire-manifest.ts";
import { contentTypeOf, recordedStream } from "./wire-stream.ts";

/** One request as the provider saw it. */
interface WireRequest {
  /** Path and query. */
  readonly path: string;
  /** The parsed JSON body. */
  readonly body: unknown;
}

/** A running server; `await using` it. */
export interface WireServer extends AsyncDisposable {
  /** The origin, without a path. */
  readonly url: string;
  /** In the order of arrival; grows while the server is used. */
  readonly requests: readonly WireRequest[];
}

/** Serves a row's stream, cut into pieces as `seed` says. */
export async function serveWire(
  row: WireRow,
  { seed }: { readonly seed: number },
): Promise<WireServer> {
  return serveStreams(row, [await recordedStream(row)], { seed });
}

/** Serves these streams, which are in the row's format, one after the other. */
export async function serveStreams(
  row: Pick<WireRow, "family" | "file" | "url">,
  streams: readonly Uint8Array[],
  { seed }: { readonly seed: number },
): Promise<WireServer> {
  const requests: WireRequest[] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    if (path !== row.url) {
      response.writeHead(404).end(`${row.file} was recorded at ${row.url}, not at ${path}`);
      return;
    }
    const arrived = requests.push({ path, body: await json(request) });
    const stream = streams[arrived - 1] ?? finalAnswer(formatOf(row));
    response.writeHead(200, { "content-type": contentTypeOf(formatOf(row)) });
    await pipeline(pacedPieces(stream, seed), response);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A client that hangs up ends its own stream; anything else must reach the client as a broken one.
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");

  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Lets the client read between two pieces, so that they arrive as they were cut. */
async function* pacedPieces(bytes: Uint8Array, seed: number): AsyncGenerator<Uint8Array, void> {
  for (const piece of cutIntoPieces(bytes, seed)) {
    yield piece;
    await nextTurn();
  }
}
