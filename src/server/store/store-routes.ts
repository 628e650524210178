/** Routes that read the log from elsewhere, and those that keep the store: the latter for processes of its user only. */

import { z } from "zod";
import type { EventLog, SessionEvent } from "../../events/index.ts";
import type { StoreLog } from "../../store/leveldb/index.ts";
import { json, route, type Call, type Route } from "../route/route.ts";
import { lineStream, openStream } from "../streams/event-stream.ts";
import { newestPermission, permittedEvents } from "../streams/permitted-events.ts";
import {
  answerLines,
  answerTexts,
  logCall,
  sessionsCall,
  type LogCall,
  type ReadableLog,
} from "./log-reading.ts";

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
      action: (asked) => (sessionOf(asked) === undefined ? "list" : "read"),
      summary: "Reads the log: one call of its port. The items come as lines of JSON.",
      body: sessionsCall,
      answer: lines,
      sessionOf: ({ body }) => sessionOf(body),
      handle: async ({ body, runtime, session, stream, ended, ...call }) => {
        const log = permitted(runtime.log, call);
        const asked = "session" in body ? { ...body, session } : body;
        return lineStream((left) => answerTexts(log, asked, [left], call.problem), stream, ended);
      },
    }),
  ];
}

/** The session that a call is about. A snapshot without a name is one over all sessions. */
function sessionOf(asked: LogCall): string | undefined {
  if (!("session" in asked)) return undefined;
  return asked.call === "loadSnapshot" && asked.session === "" ? undefined : asked.session;
}

/** The log without the sessions that a client may not read. Deleted ones have no metadata: `where` hides them. */
function permitted(log: EventLog, { may, gate }: Pick<Call, "may" | "gate">): ReadableLog {
  const isPermitted = newestPermission((session) => may("read", session));
  async function* only<Item extends { readonly session: string; readonly event?: SessionEvent }>(
    items: AsyncIterable<Item>,
  ): AsyncGenerator<Item> {
    for await (const item of items) if (await isPermitted(item.session, item.event)) yield item;
  }
  return {
    read: (...asked) => log.read(...asked),
    readAt: (...asked) => log.readAt(...asked),
    subscribe: (session, options) =>
      permittedEvents(log.subscribe(session, options), gate("read"), (event) => event),
    revision: (...asked) => log.revision(...asked),
    // One over all sessions tells of those that the client may not read: the client makes its own of the events.
    loadSnapshot: async (session, projection) =>
      session === "" ? undefined : await log.loadSnapshot(session, projection),
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
      handle: async ({ body, request: { signal }, stream: { closing }, ended }) =>
        openStream(answerLines(store, body, [signal, closing], ended), lines.mediaType),
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
