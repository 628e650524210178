/** Reads bodies up to a limit: one that is longer is not read to its end. */

import { TurnlogError } from "../../events/index.ts";
import { textLines } from "../../shared/index.ts";
import { refusedMedia } from "../problems/problem.ts";

/**
 * The parsed JSON of a body; undefined for an empty one.
 * @throws TurnlogError `REQUEST_TOO_LARGE`, `INVALID_INPUT`
 */
export async function readJsonBody(request: Request, maxBytes: number): Promise<unknown> {
  const pieces = await Array.fromAsync(decoded(limited(request, maxBytes)));
  const text = pieces.join("");
  keepCopies(request, text);
  if (text.trim() === "") return undefined;
  const mediaType = request.headers.get("content-type");
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(mediaType ?? ""))
    throw refusedMedia(mediaType);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TurnlogError("INVALID_INPUT", `The body is not JSON: ${String(error)}`, {
      cause: error,
    });
  }
}

/**
 * `authorize` reads `request.clone()`, and is asked again in streams and for acts within the request, when the route
 * has read the body. It must see the same request then: programs keep what they know about one by its identity.
 */
function keepCopies(request: Request, body: string): void {
  const { url, method, headers } = request;
  const clone = (): Request => new Request(url, { method, headers, body });
  Object.defineProperty(request, "clone", { value: clone, configurable: true });
}

/** The lines of a body, blank ones too. @throws TurnlogError `REQUEST_TOO_LARGE` */
export function readLines(request: Request, maxBytes: number): AsyncGenerator<string> {
  return textLines(decoded(limited(request, maxBytes)));
}

/** @throws TurnlogError `INVALID_INPUT` for bytes that are not UTF-8: replacing them would change the content */
async function* decoded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (cause) {
      throw new TurnlogError("INVALID_INPUT", "The body must be UTF-8.", { cause });
    }
  };
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}

async function* limited(request: Request, maxBytes: number): AsyncGenerator<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  if (request.bodyUsed) throw takenBody();
  let bytes = 0;
  for await (const chunk of received(request)) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    yield chunk;
  }
}

/** @throws TurnlogError `INVALID_INPUT` where the client leaves before the end: that is no failure of the server */
async function* received({ body }: Request): AsyncGenerator<Uint8Array> {
  const chunks: ReadableStream<Uint8Array> | null = body;
  try {
    yield* chunks ?? [];
  } catch (cause) {
    throw new TurnlogError(
      "INVALID_INPUT",
      "The body broke off before its end. Send the request again.",
      { cause },
    );
  }
}

function takenBody(): TurnlogError {
  return new TurnlogError(
    "CALLBACK_FAILED",
    "The server's `authorize` has read the body of the request, and the route needs it. Read `request.clone()` there.",
    { details: { option: "authorize" } },
  );
}

function tooLarge(maxBytes: number): TurnlogError {
  return new TurnlogError(
    "REQUEST_TOO_LARGE",
    `The body is larger than ${maxBytes} bytes. Send less; a program that serves may raise \`limits.bodyBytes\`.`,
    { details: { maxBytes } },
  );
}
