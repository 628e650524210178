/** Routes for other processes of the store's user only: they read the log as it is stored, and keep the store. */

import { z } from "zod";
import type { StoreLog } from "../../store/leveldb/index.ts";
import { json, route, type Route } from "../route/route.ts";
import { answerLines, logCall } from "./log-reading.ts";

const position = z.int().positive();
const done = z.looseObject({});

export function storeRoutes(store: StoreLog): readonly Route[] {
  return [
    route({
      method: "post",
      path: "/store/log",
      action: "read",
      summary: "One call of the log's port: its items, one per line.",
      body: logCall,
      answer: {
        kind: "media",
        mediaType: "application/x-ndjson",
        words: "One JSON value per line.",
      },
      handle: async ({ body, request: { signal }, stream: { closing } }) =>
        new Response(answerLines(store, body, [signal, closing]), {
          headers: { "content-type": "application/x-ndjson" },
        }),
    }),
    route({
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
      method: "post",
      path: "/store/collect-blobs",
      action: "delete",
      summary: "Removes the blobs that no session uses.",
      body: z.strictObject({}),
      answer: done,
      handle: async ({ runtime }) => json(await runtime.collectBlobs()),
    }),
    route({
      method: "post",
      path: "/store/redact",
      action: "delete",
      summary: "Redacts positions of a session permanently.",
      body: z.strictObject({
        session: z.string(),
        positions: z.array(z.strictObject({ from: position, to: position })),
        reason: z.string().exactOptional(),
      }),
      answer: done,
      sessionOf: ({ body }) => body.session,
      handle: async ({ body: { session, positions, ...options }, runtime, by }) =>
        json(await runtime.redact(session, positions, { ...options, ...by })),
    }),
  ];
}
