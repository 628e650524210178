/** Reads bodies up to a limit: one that is longer is not read to its end. */

import { TurnlogError } from "../../events/index.ts";
import { refusedMedia } from "../problems/index.ts";

/**
 * The parsed JSON of a body; undefined for an empty one.
 * @throws TurnlogError `REQUEST_TOO_LARGE`, `INVALID_INPUT`
 */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of limited(request, maxBytes)) chunks.push(chunk);
  const text = new TextDecoder().decode(Buffer.concat(chunks));
  if (text.trim() === "") return undefined;
  const mediaType = request.headers.get("content-type");
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(mediaType ?? ""))
    throw refusedMedia(mediaType);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TurnlogError("INVALID_INPUT", `The body is no JSON: ${String(error)}`, {
      cause: error,
    });
  }
}

/** The lines of a body. @throws TurnlogError `REQUEST_TOO_LARGE` */
export async function* readLines(request: Request, maxBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of limited(request, maxBytes)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter((line) => line.trim() !== "");
  }
  if (rest.trim() !== "") yield rest;
}

async function* limited(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  let bytes = 0;
  const body: ReadableStream<Uint8Array> | null = request.body;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

function tooLarge(maxBytes: number): TurnlogError {
  return new TurnlogError(
    "REQUEST_TOO_LARGE",
    `The body is larger than ${maxBytes} bytes. Send less, or raise \`limits.bodyBytes\`.`,
    { details: { maxBytes } },
  );
}
