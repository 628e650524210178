// The bytes of a recorded stream as its provider sent them over HTTP, and the framing that does it.
// Recorded chunks are passed on letter for letter, even where they are no valid JSON.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { corpusFolder, formatOf, type WireFormat, type WireRow } from "./wire-manifest.ts";

const typedChunk = z.looseObject({ type: z.string() });

/** Frames JSON chunks as the server-sent events of this provider. */
export function frame(format: WireFormat, chunks: readonly string[]): Uint8Array {
  return Buffer.from(frames[format](chunks));
}

const frames: Record<WireFormat, (chunks: readonly string[]) => string> = {
  "openai-responses": dataEvents,
  "openai-chat": (chunks) => dataEvents([...chunks, "[DONE]"]),
  google: dataEvents,
  anthropic: (chunks) =>
    chunks
      .map((chunk) => `event: ${typedChunk.parse(JSON.parse(chunk)).type}\ndata: ${chunk}\n\n`)
      .join(""),
};

function dataEvents(chunks: readonly string[]): string {
  return chunks.map((chunk) => `data: ${chunk}\n\n`).join("");
}

/** The row's stream: a chunk file (one JSON chunk a line) framed, an `.sse` file as it is. */
export async function recordedStream(row: WireRow): Promise<Uint8Array> {
  const bytes = await readFile(resolve(corpusFolder, "wire", row.set, row.file));
  if (row.file.endsWith(".sse")) return bytes;
  const chunks = bytes
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
  return frame(formatOf(row), chunks);
}
