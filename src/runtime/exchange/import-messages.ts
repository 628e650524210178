/**
 * Sessions made of messages of the AI SDK, as other programs keep them. The SDK is loaded when there
 * are some: who only reads a store does without it.
 */

import type { ModelMessage, UIMessage } from "ai";
import { z } from "zod";
import { TurnlogError, type EventLog } from "../../events/index.ts";
import { appendImported, type Imported } from "./import-session.ts";
import { transcribe, type MessageTranscript } from "./transcribe.ts";
import { withPlainData } from "./plain-messages.ts";

/** What the session of imported messages is called, and when it is to have been. */
export interface MessageImportOptions {
  /** The name of the session. */
  readonly as: string;
  /** Epoch milliseconds: the time of all events, as messages have none. Default: now. */
  readonly at?: number;
}

/** What an import of messages made. */
export interface ImportedMessages extends Imported {
  /**
   * What the system messages said. No session holds it: give it to the agent that goes on as its
   * `instructions`. Empty where there was no system message.
   */
  readonly instructions: string;
}

/**
 * Imports model messages (`ModelMessage[]`) as a session, all of them or none. User messages begin
 * turns, or steer them where tool results came before; every reply of the model is a step; a call
 * without a result has an unknown outcome, and an error that was JSON is told as text. Call ids and
 * what providers added stay what they were; token figures are estimates. Messages that say nothing
 * are left out.
 * @throws TurnlogError `INVALID_INPUT` for what are no model messages, a result without its call,
 * or a call id twice in one reply; `REVISION_CONFLICT` when there is a session of this name
 */
export async function importModelMessages(
  log: EventLog,
  messages: readonly ModelMessage[],
  { as, at = Date.now() }: MessageImportOptions,
): Promise<ImportedMessages> {
  const { events, instructions } = await transcriptOfModelMessages(messages, at);
  return { ...(await appendImported(log, as, events)), instructions };
}

/**
 * Imports the messages of a chat (`UIMessage[]`) as a session, brought into model messages by the AI
 * SDK's own rules, and then as {@link importModelMessages}.
 * @throws TurnlogError as {@link importModelMessages}
 */
export async function importUIMessages(
  log: EventLog,
  messages: readonly UIMessage[],
  { as, at = Date.now() }: MessageImportOptions,
): Promise<ImportedMessages> {
  const { events, instructions } = await transcriptOfUIMessages(messages, at);
  return { ...(await appendImported(log, as, events)), instructions };
}

/** The events that model messages from outside become. @throws TurnlogError `INVALID_INPUT` */
export async function transcriptOfModelMessages(
  messages: unknown,
  at: number,
): Promise<MessageTranscript> {
  const { modelMessageSchema } = await import("ai");
  const parsed = z.array(modelMessageSchema).safeParse(withPlainData(messages));
  if (!parsed.success) throw notMessages("model messages", parsed.error);
  return transcribe(parsed.data, at);
}

/** The events that UI messages from outside become. @throws TurnlogError `INVALID_INPUT` */
export async function transcriptOfUIMessages(
  messages: unknown,
  at: number,
): Promise<MessageTranscript> {
  const { convertToModelMessages, validateUIMessages } = await import("ai");
  let converted: ModelMessage[];
  try {
    converted = await convertToModelMessages(await validateUIMessages({ messages }));
  } catch (error) {
    throw notMessages("UI messages", error);
  }
  return transcribe(converted, at);
}

function notMessages(what: string, cause: unknown): TurnlogError {
  const why = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
  return new TurnlogError("INVALID_INPUT", `These are not the AI SDK's ${what}: ${why}`, { cause });
}
