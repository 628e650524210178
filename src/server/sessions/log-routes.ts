/** The events of a session as server-sent events: past, then live, without a gap. */

import { z } from "zod";
import { defined, TurnlogError } from "../../events/index.ts";
import { numberQuery, route, type Call, type Route, json, streamedBody } from "../route/route.ts";
import { eventsAnswer } from "../streams/permitted-events.ts";
import { mediaTypeOf, UNKNOWN_TYPE } from "../../media/index.ts";
import { exportPages, importSession } from "../../archive/exchange/index.ts";
import { checkPosition } from "../../state/index.ts";
import { streamOf } from "../../shared/index.ts";
import { readLines } from "../security/body.ts";

export function eventRoutes(): readonly Route[] {
  return [
    route({
      name: "events",
      method: "get",
      path: "/api/sessions/{session}/events",
      action: "read",
      summary:
        "The events from a position (default 1): stored ones, then live ones. `Last-Event-ID` resumes after a position.",
      query: z.strictObject({ from: numberQuery.optional() }),
      answer: {
        kind: "media",
        mediaType: "text/event-stream",
        words: "One event each: `id` is its position, `data` the event as JSON.",
      },
      handle: async (call) => {
        const session = await call.open();
        const from = await startOf(call, call.query.from);
        return eventsAnswer((signal) => session.events({ from, signal }), call);
      },
    }),
  ];
}

/** The position to begin with. @throws TurnlogError `INVALID_INPUT` after the next position */
async function startOf(
  { request, runtime, session }: Call,
  from: number | undefined,
): Promise<number> {
  const cursor = request.headers.get("last-event-id");
  const start = cursor === null ? (from ?? 1) : /^\d{1,15}$/.test(cursor) ? Number(cursor) + 1 : 0;
  const last = await runtime.log.revision(session);
  if (start >= 1 && start <= last + 1) return start;
  throw new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} has the positions 1 to ${last}; its events cannot begin ${cursor === null ? `at ${from}` : `behind ${JSON.stringify(cursor)}`}.`,
    { session, position: last, details: { option: cursor === null ? "from" : "last-event-id" } },
  );
}

// Blobs: the media of messages and results, served with their type but never as a page of this server.

/** Types that browsers show without running anything. All other types are downloaded. */
const shown = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+)$/;

export function blobRoutes(): readonly Route[] {
  return [
    route({
      name: "blob",
      method: "get",
      path: "/api/sessions/{session}/blobs/{digest}",
      action: "read",
      audience: "user",
      summary: "A file that the session refers to, by its SHA-256.",
      answer: { kind: "media", mediaType: "application/octet-stream", words: "The bytes." },
      handle: async ({ params: { session = "", digest = "" }, blob }) => {
        if (!/^[0-9a-f]{64}$/.test(digest)) {
          throw new TurnlogError(
            "INVALID_INPUT",
            "The digest of a blob is a SHA-256 of 64 lower-case hexadecimal digits.",
            { details: { option: "digest" } },
          );
        }
        const content = await blob(session, digest);
        const found = await mediaTypeOf(content);
        const isShown = shown.test(found);
        return new Response(content, {
          headers: {
            "content-type": isShown ? found : UNKNOWN_TYPE,
            "content-disposition": `${isShown ? "inline" : "attachment"}; filename="${digest.slice(0, 16)}"`,
            "content-security-policy": "sandbox; default-src 'none'",
            "cache-control": "private, max-age=31536000, immutable",
          },
        });
      },
    }),
  ];
}

// Export and import of a session as a file of lines.

export function transferRoutes(): readonly Route[] {
  return [
    route({
      name: "export",
      method: "get",
      path: "/api/sessions/{session}/export",
      action: "export",
      summary:
        "The session as a file: a header, then one event per line. The file contains its blobs.",
      answer: {
        kind: "media",
        mediaType: "application/x-ndjson",
        words: "One JSON value per line.",
      },
      handle: async ({ runtime, session }) => {
        await checkPosition(runtime.log, session);
        const pages = exportPages(runtime.log, session, { store: runtime.blobs });
        return new Response(streamOf(bytesOf(pages)), {
          headers: {
            "content-type": "application/x-ndjson",
            "content-disposition": `attachment; filename="${session.replaceAll(/[^\w.-]/g, "_")}.jsonl"`,
          },
        });
      },
    }),
    route({
      name: "import",
      method: "post",
      path: "/api/sessions/{session}/import",
      action: "import",
      summary: "Creates a session from an exported file: all of it or nothing.",
      body: streamedBody,
      answer: z.looseObject({ session: z.string() }),
      status: 201,
      handle: async ({ runtime, session, request, bodyBytes }) =>
        json(
          await importSession(runtime.log, readLines(request, bodyBytes), {
            as: session,
            ...defined({ blobs: runtime.blobs }),
          }),
          201,
        ),
    }),
  ];
}

async function* bytesOf(pages: AsyncIterable<readonly string[]>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const lines of pages) yield encoder.encode(`${lines.join("\n")}\n`);
}
