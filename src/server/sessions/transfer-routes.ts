/** Export and import of a session as a file of lines. */

import { z } from "zod";
import { exportSession, importSession } from "../../archive/exchange/index.ts";
import { checkPosition } from "../../state/index.ts";
import { json, route, streamedBody, type Route } from "../route/route.ts";
import { readLines } from "../security/body.ts";

export function transferRoutes(): readonly Route[] {
  return [
    route({
      method: "get",
      path: "/api/sessions/{session}/export",
      action: "export",
      summary: "The session as a file: a header, then one event a line. Its blobs are in it.",
      answer: { kind: "media", mediaType: "application/x-ndjson", words: "One JSON value a line." },
      handle: async ({ runtime, session }) => {
        await checkPosition(runtime.log, session);
        const lines = exportSession(runtime.log, session);
        return new Response(asBytes(lines), {
          headers: {
            "content-type": "application/x-ndjson",
            "content-disposition": `attachment; filename="${session.replaceAll(/[^\w.-]/g, "_")}.jsonl"`,
          },
        });
      },
    }),
    route({
      method: "post",
      path: "/api/sessions/{session}/import",
      action: "import",
      summary: "Creates a session from an exported file: all of it or nothing.",
      body: streamedBody,
      answer: z.looseObject({ session: z.string() }),
      handle: async ({ runtime, session, request, bodyBytes }) =>
        json(await importSession(runtime.log, readLines(request, bodyBytes), { as: session }), 201),
    }),
  ];
}

function asBytes(lines: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const next = await lines.next();
      if (next.done === true) controller.close();
      else controller.enqueue(encoder.encode(`${next.value}\n`));
    },
    async cancel() {
      await lines.return(undefined);
    },
  });
}
