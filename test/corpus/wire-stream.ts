// The bytes of a recorded stream as its provider sent them over HTTP, and the framing that does it.
// Recorded chunks are passed on letter for letter, even where they are no valid JSON; only Bedrock's are
// opened, as its frames name the type of each beside it.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { EventStreamCodec } from "@smithy/core/event-streams";
import { z } from "zod";
import { corpusFolder, formatOf, type WireFormat, type WireRow } from "./wire-manifest.ts";

const typedChunk = z.looseObject({ type: z.string() });

/** Frames JSON chunks as this provider does: server-sent events, or the binary frames of AWS. */
export function frame(format: WireFormat, chunks: readonly string[]): Uint8Array {
  return format === "amazon-bedrock"
    ? Buffer.concat(chunks.map(binaryFrame))
    : Buffer.from(frames[format](chunks));
}

/** What a response in this format says that it is. */
export function contentTypeOf(format: WireFormat): string {
  return format === "amazon-bedrock"
    ? "application/vnd.amazon.eventstream"
    : "text/event-stream; charset=utf-8";
}

const frames: Record<
  Exclude<WireFormat, "amazon-bedrock">,
  (chunks: readonly string[]) => string
> = {
  "openai-responses": dataEvents,
  "openai-chat": doneEvents,
  "openai-completion": doneEvents,
  google: dataEvents,
  "google-interactions": dataEvents,
  cohere: dataEvents,
  anthropic: (chunks) =>
    chunks
      .map((chunk) => `event: ${typedChunk.parse(JSON.parse(chunk)).type}\ndata: ${chunk}\n\n`)
      .join(""),
};

function doneEvents(chunks: readonly string[]): string {
  return dataEvents([...chunks, "[DONE]"]);
}

function dataEvents(chunks: readonly string[]): string {
  return chunks.map((chunk) => `data: ${chunk}\n\n`).join("");
}

const taggedChunk = z.record(z.string(), z.unknown());

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")),
  (text) => Buffer.from(text, "utf8"),
);

/** `{"<type>": <body>}` as the frame that has it: the type in a header, the body behind it, checksums around both. */
function binaryFrame(chunk: string): Uint8Array {
  const [tagged, ...more] = Object.entries(taggedChunk.parse(JSON.parse(chunk)));
  if (tagged === undefined || more.length > 0) {
    throw new Error(`a chunk of Bedrock has one type, this one has not: ${chunk}`);
  }
  const [type, body] = tagged;
  return codec.encode({
    headers: {
      ":event-type": { type: "string", value: type },
      ":content-type": { type: "string", value: "application/json" },
      ":message-type": { type: "string", value: "event" },
    },
    body: Buffer.from(JSON.stringify(body)),
  });
}

/** The row's stream: a chunk file framed, an `.sse` file as it is. */
export async function recordedStream(row: WireRow): Promise<Uint8Array> {
  if (row.file.endsWith(".sse")) return readFile(pathOf(row));
  return frame(formatOf(row), await recordedChunks(row));
}

/** The JSON chunks of a chunk file, which has one a line. */
export async function recordedChunks(row: WireRow): Promise<readonly string[]> {
  const text = await readFile(pathOf(row), "utf8");
  return text.split("\n").filter((line) => line !== "");
}

/** The responses that a chunk file of Anthropic has one after the other, each as a stream of its own. */
export async function recordedResponses(row: WireRow): Promise<readonly Uint8Array[]> {
  const responses: string[][] = [];
  for (const chunk of await recordedChunks(row)) {
    const isFirst = typedChunk.parse(JSON.parse(chunk)).type === "message_start";
    if (isFirst) responses.push([chunk]);
    else responses.at(-1)?.push(chunk);
  }
  return responses.map((chunks) => frame(formatOf(row), chunks));
}

function pathOf({ set, file }: WireRow): string {
  return resolve(corpusFolder, "wire", set, file);
}
