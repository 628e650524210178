/** Reading a log from another process: each call of the port is a request, and its answer a stream of lines. */

import { z } from "zod";
import {
  createCodec,
  type BlobStore,
  type EventLog,
  type GlobalEvent,
  type JsonValue,
  type SessionEvent,
} from "../../events/index.ts";
import { firstAbort, toJson } from "../../shared/index.ts";
import { problemOf, type Problem } from "../problems/problem.ts";

/** What can be read of a log. */
export interface ReadableLog extends Pick<
  EventLog,
  | "read"
  | "readAt"
  | "subscribe"
  | "readAll"
  | "subscribeAll"
  | "revision"
  | "list"
  | "deleted"
  | "loadSnapshot"
> {
  readonly blobs?: Pick<BlobStore, "has" | "list"> | undefined;
}

const session = z.string();
const position = z.int().positive();
const from = position;

/** The log checks the rest of the values. */
const sessionCalls = [
  z.strictObject({
    call: z.literal("read"),
    session,
    range: z.strictObject({
      from: z.int().exactOptional(),
      to: z.int().exactOptional(),
      backwards: z.boolean().exactOptional(),
      limit: z.int().exactOptional(),
    }),
  }),
  z.strictObject({ call: z.literal("readAt"), session, positions: z.array(position).readonly() }),
  z.strictObject({ call: z.literal("subscribe"), session, from }),
  z.strictObject({ call: z.literal(["readAll", "subscribeAll"]), from }),
  z.strictObject({ call: z.literal("revision"), session }),
  z.strictObject({ call: z.literal("list"), prefix: z.string() }),
  z.strictObject({ call: z.literal("deleted") }),
  z.strictObject({ call: z.literal("loadSnapshot"), session, projection: z.string() }),
] as const;

/** Leaves out the names of blobs: a blob belongs to no session, and anyone who knows its name may read it. */
export const sessionsCall = z.discriminatedUnion("call", sessionCalls);

/** A call of the port `EventLog`, or of its blobs. */
export const logCall = z.discriminatedUnion("call", [
  ...sessionCalls,
  z.strictObject({ call: z.literal("blobs") }),
  z.strictObject({ call: z.literal("hasBlob"), digest: z.string() }),
]);
export type LogCall = z.output<typeof logCall>;

const codec = createCodec();

/** An event as its row in the log: another release reads it as it reads its own store. */
function rowOf(session: string, event: SessionEvent): JsonValue {
  const { position: at } = event;
  return [at, codec.encode(event, { session, position: at })];
}

function globalRow({ position: at, session, event }: GlobalEvent): JsonValue {
  return [at, session, rowOf(session, event)];
}

/** The items that a call answers. */
export async function* itemsOf(
  log: ReadableLog,
  asked: LogCall,
  signal: AbortSignal,
): AsyncGenerator<JsonValue, void, void> {
  switch (asked.call) {
    case "read":
      for await (const event of log.read(asked.session, asked.range))
        yield rowOf(asked.session, event);
      return;
    case "readAt":
      for (const event of await log.readAt(asked.session, asked.positions))
        yield rowOf(asked.session, event);
      return;
    case "subscribe":
      for await (const event of log.subscribe(asked.session, { from: asked.from, signal }))
        yield rowOf(asked.session, event);
      return;
    case "readAll":
      for await (const event of log.readAll({ from: asked.from })) yield globalRow(event);
      return;
    case "subscribeAll":
      for await (const event of log.subscribeAll({ from: asked.from, signal }))
        yield globalRow(event);
      return;
    case "revision":
      yield await log.revision(asked.session);
      return;
    case "list":
      for await (const entry of log.list({ prefix: asked.prefix })) yield toJson(entry);
      return;
    case "deleted":
      for await (const entry of log.deleted()) yield toJson(entry);
      return;
    case "loadSnapshot": {
      const snapshot = await log.loadSnapshot(asked.session, asked.projection);
      if (snapshot !== undefined) yield toJson(snapshot);
      return;
    }
    case "hasBlob":
      yield (await log.blobs?.has(asked.digest)) ?? false;
      return;
    case "blobs":
      for await (const entry of log.blobs?.list() ?? []) yield toJson(entry);
  }
}

/** Calls that wait for events to come: each line leaves at once. */
const live: ReadonlySet<LogCall["call"]> = new Set(["subscribe", "subscribeAll"]);
const CHUNK_CHARACTERS = 65_536;

/**
 * The answer of a call: a line `{ item }` for each, then `{ end: true }` or `{ problem }`. An answer without
 * its last line was cut off.
 */
export function answerLines(
  log: ReadableLog,
  asked: LogCall,
  ends: readonly AbortSignal[],
  ended: () => void = () => {},
): ReadableStream<Uint8Array> {
  const texts = async function* (): AsyncGenerator<string, void, void> {
    try {
      yield* answerTexts(log, asked, ends);
    } finally {
      ended();
    }
  };
  return ReadableStream.from(texts()).pipeThrough(new TextEncoderStream());
}

/** The same, as texts of whole lines. */
export async function* answerTexts(
  log: ReadableLog,
  asked: LogCall,
  ends: readonly AbortSignal[],
  problem: (error: unknown) => Problem = problemOf,
): AsyncGenerator<string, void, void> {
  const most = live.has(asked.call) ? 0 : CHUNK_CHARACTERS;
  using first = firstAbort(...ends);
  let text = "";
  try {
    for await (const item of itemsOf(log, asked, first.signal)) {
      text += `${JSON.stringify({ item })}\n`;
      if (text.length < most) continue;
      yield text;
      text = "";
    }
    yield `${text}{"end":true}\n`;
  } catch (error) {
    yield `${text}${JSON.stringify({ problem: problem(error) })}\n`;
  }
}
