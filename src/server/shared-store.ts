/**
 * Serves a store to other processes of its user, by HTTP over the socket in its folder. The modes of the folder
 * (0700) and the socket (0600) are the check, since Node does not reveal the user of a peer: a process that may
 * connect may also read the files. Loaded at the first connection.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Runtime, SharedStore } from "../runtime/index.ts";
import { after } from "../shared/index.ts";
import type { StoreLog } from "../store/leveldb/index.ts";
import { serverCore } from "./create-server.ts";
import { storeRoutes } from "./store/index.ts";

/** Milliseconds that open answers may take to end when the store is closed. */
const GRACE_MS = 1_000;

/** Limits for a user's own processes: so high that only a runaway process reaches them. */
const limits = { bodyBytes: 1_000_000_000, openAnswers: 10_000, requestsPerMinute: 10_000_000 };

/** @param store - The log below the runtime's: events as they are stored, encrypted ones too. */
export function sharedStore(runtime: Runtime, store: StoreLog): SharedStore {
  const { server } = serverCore(
    runtime,
    { token: false, limits, studio: true },
    storeRoutes(store),
  );
  const connections = new Set<Socket>();
  const answers = new Set<Promise<void>>();
  const http = createServer((incoming, outgoing) => {
    // A reader that has gone needs no answer.
    const answered = answer(server.fetch, incoming, outgoing).catch(() => outgoing.destroy());
    const settled = answered.then(() => void answers.delete(settled));
    answers.add(settled);
  });
  return {
    accept: (connection) => {
      connections.add(connection);
      connection.once("close", () => connections.delete(connection));
      http.emit("connection", connection);
    },
    close: async () => {
      server.close("the application closed the store");
      const { promise, resolve } = Promise.withResolvers<void>();
      using _ = after(GRACE_MS, resolve);
      await Promise.race([Promise.all(answers), promise]);
      for (const connection of connections) connection.destroy();
    },
  };
}

async function answer(
  fetch: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  outgoing.once("close", () => left.abort());
  const { method = "GET", url = "/", headers } = incoming;
  const given = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" ? [[name, value]] : [],
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(new URL(url, "http://localhost"), {
    method,
    headers: given,
    signal: left.signal,
    ...(hasBody ? { body: Readable.toWeb(incoming), duplex: "half" as const } : {}),
  });
  const { status, headers: sent, body } = await fetch(request);
  outgoing.writeHead(status, Object.fromEntries(sent));
  if (body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(body), outgoing);
}
