/** Routes that read the log from elsewhere, and those that keep the store: the latter for processes of its user only. */

import { z } from "zod";
import { TurnlogError, type EventLog } from "../../events/index.ts";
import type { StoreLog } from "../../store/leveldb/index.ts";
import { json, route, type Route } from "../route/route.ts";
import { answerLines, logCall, type LogCall, type ReadableLog } from "./log-reading.ts";

const done = z.looseObject({});

/**
 * The log of the server's sessions for clients with the right to read them: `turnlog --server` reads it as it reads
 * a store of its own. Events are as programs see them, without encryption.
 */
export function logRoutes(): readonly Route[] {
  return [
    route({
      method: "post",
      path: "/api/log",
      name: "readLog",
      action: (asked) => ("session" in asked ? "read" : "list"),
      summary: "Reads the log: one call of its port. The items come as lines of JSON.",
      body: logCall,
      answer: lines,
      sessionOf: ({ body }) => ("session" in body ? body.session : undefined),
      handle: async ({ body, runtime, where, mayRead, request, stream: { closing } }) => {
        if (where !== undefined && (body.call === "deleted" || body.call === "blobs"))
          throw new TurnlogError(
            "FORBIDDEN",
            "You may read only some of the sessions, and this is about the whole store.",
          );
        return linesOf(permitted(runtime.log, mayRead), body, [request.signal, closing]);
      },
    }),
  ];
}

/** The log without the sessions that a client may not read. */
function permitted(log: EventLog, mayRead: (session: string) => Promise<boolean>): ReadableLog {
  const known = new Map<string, Promise<boolean>>();
  const isPermitted = async (session: string): Promise<boolean> => {
    const permission = known.get(session) ?? mayRead(session);
    known.set(session, permission);
    return await permission;
  };
  async function* only<Item extends { readonly session: string }>(
    items: AsyncIterable<Item>,
  ): AsyncGenerator<Item> {
    for await (const item of items) if (await isPermitted(item.session)) yield item;
  }
  return {
    blobs: log.blobs,
    read: (...asked) => log.read(...asked),
    readAt: (...asked) => log.readAt(...asked),
    subscribe: (...asked) => log.subscribe(...asked),
    revision: (...asked) => log.revision(...asked),
    loadSnapshot: (...asked) => log.loadSnapshot(...asked),
    readAll: (...asked) => only(log.readAll(...asked)),
    subscribeAll: (...asked) => only(log.subscribeAll(...asked)),
    list: (...asked) => only(log.list(...asked)),
    deleted: () => only(log.deleted()),
  };
}

const lines = {
  kind: "media",
  mediaType: "application/x-ndjson",
  words: "One JSON value per line.",
} as const;

function linesOf(log: ReadableLog, asked: LogCall, ends: readonly AbortSignal[]): Response {
  return new Response(answerLines(log, asked, ends), {
    headers: { "content-type": lines.mediaType },
  });
}

export function storeRoutes(store: StoreLog): readonly Route[] {
  return [
    route({
      name: "storeLog",
      method: "post",
      path: "/store/log",
      action: "read",
      summary: "One call of the log's port: its items, one per line.",
      body: logCall,
      answer: lines,
      handle: async ({ body, request: { signal }, stream: { closing } }) =>
        linesOf(store, body, [signal, closing]),
    }),
    route({
      name: "storeBackup",
      method: "post",
      path: "/store/backup",
      action: "export",
      summary: "Copies the store into an empty folder of this machine.",
      body: z.strictObject({ dir: z.string().min(1) }),
      answer: done,
      handle: async ({ body: { dir }, request: { signal } }) =>
        json(await store.backup(dir, { signal })),
    }),
    route({
      name: "storeCollectBlobs",
      method: "post",
      path: "/store/collect-blobs",
      action: "delete",
      summary: "Removes the blobs that no session uses.",
      body: z.strictObject({}),
      answer: done,
      handle: async ({ runtime }) => json(await runtime.collectBlobs()),
    }),
  ];
}
