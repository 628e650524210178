// What a page makes of chunks: the AI SDK's own reader, looked at after chosen chunks.
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import type { SessionChunk, SessionData, SessionMetadata } from "../../src/ui/index.ts";

/** A message that says after which chunk it was looked at. */
type Probed = UIMessage<Partial<SessionMetadata> & { readonly probe?: number }, SessionData>;

/**
 * The message after each chosen number of chunks. A `message-metadata` chunk makes the reader show its
 * message; its mark is taken out again.
 */
export async function streamedMessages(
  chunks: readonly SessionChunk[],
  prefixes: ReadonlySet<number>,
): Promise<ReadonlyMap<number, Probed>> {
  const probe = (prefix: number): UIMessageChunk => ({
    type: "message-metadata",
    messageMetadata: { probe: prefix },
  });
  const sent = chunks.flatMap((chunk, index) =>
    prefixes.has(index + 1) ? [overTheWire(chunk), probe(index + 1)] : [overTheWire(chunk)],
  );
  const problems: unknown[] = [];
  const stream = readUIMessageStream<Probed>({
    stream: ReadableStream.from(sent),
    onError: (error) => problems.push(error),
  });
  const seen = new Map<number, Probed>();
  for await (const { metadata, ...message } of stream) {
    const { probe: prefix, ...own } = metadata ?? {};
    if (prefix !== undefined && !seen.has(prefix)) seen.set(prefix, { ...message, metadata: own });
  }
  const errors = chunks.filter(({ type }) => type === "error").length;
  if (problems.length > errors) throw problems[0];
  return seen;
}

function overTheWire(chunk: SessionChunk): UIMessageChunk {
  return JSON.parse(JSON.stringify(chunk)) as UIMessageChunk;
}
