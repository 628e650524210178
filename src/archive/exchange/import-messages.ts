/**
 * Sessions made of messages of the AI SDK, as other programs keep them. The SDK is loaded when there
 * are some: who only reads a store does without it.
 */

import { check, name, optionsOf, time } from "../../validation/index.ts";
import { TurnlogError, type EventLog } from "../../events/index.ts";
import {
  droppedOfModelMessages,
  droppedOfUIMessages,
  keptIds,
  type DroppedContent,
} from "./dropped-content.ts";
import { appendImported, type Imported } from "./import-session.ts";
import { faultWords, schemaErrorText } from "./schema-error-text.ts";
import { transcribe, type MessageTranscript } from "./transcribe.ts";
import { readableError } from "../../shared/index.ts";
import { withPlainData } from "./plain-messages.ts";
import type { ModelMessage, UIMessage } from "ai";
import { z } from "zod";

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
  /** What is in no event: named, since it is lost. Empty where all was kept. */
  readonly dropped: readonly DroppedContent[];
}

const schema = optionsOf<MessageImportOptions>({ at: time }, { as: name });

/**
 * Imports model messages (`ModelMessage[]`) as a session, all of them or none. User messages begin
 * turns, or steer them where tool results came before; every reply of the model is a step; a call
 * without a result has an unknown outcome, and an error that was JSON is told as text. Call ids and
 * what providers added stay what they were; token figures are estimates. Messages that say nothing
 * are left out, and named as `dropped`. A user message between the results of a reply's calls comes behind them.
 * @throws TurnlogError `INVALID_INPUT` for what are no model messages, a result without its call,
 * or a call id twice in one reply; `REVISION_CONFLICT` when there is a session of this name
 */
export async function importModelMessages(
  log: EventLog,
  messages: readonly ModelMessage[],
  options: MessageImportOptions,
): Promise<ImportedMessages> {
  check(schema, options, "importModelMessages", { name: "options" });
  const { as, at = Date.now() } = options;
  const { events, ...rest } = await transcriptOfModelMessages(messages, at);
  return { ...(await appendImported(log, as, events)), ...rest };
}

/**
 * Imports the messages of a chat (`UIMessage[]`) as a session, brought into model messages by the AI
 * SDK's own rules, and then as {@link importModelMessages}. User messages keep their ids; other ids,
 * metadata and parts that no model is shown (`data-*`, `source-*`) are named as `dropped`.
 * @throws TurnlogError as {@link importModelMessages}
 */
export async function importUIMessages(
  log: EventLog,
  messages: readonly UIMessage[],
  options: MessageImportOptions,
): Promise<ImportedMessages> {
  check(schema, options, "importUIMessages", { name: "options" });
  const { as, at = Date.now() } = options;
  const { events, ...rest } = await transcriptOfUIMessages(messages, at);
  return { ...(await appendImported(log, as, events)), ...rest };
}

/** The events that model messages from outside become. @throws TurnlogError `INVALID_INPUT` */
export async function transcriptOfModelMessages(
  messages: unknown,
  at: number,
): Promise<MessageTranscript> {
  const parsed = await parsedMessages("model messages", messages);
  return { ...transcribe(parsed, at), dropped: droppedOfModelMessages(parsed) };
}

/** @param what - What they were before they were model messages. */
async function parsedMessages(what: string, messages: unknown): Promise<readonly ModelMessage[]> {
  const { modelMessageSchema } = await import("ai");
  const plain = plainMessages(what, messages);
  const parsed = z.array(modelMessageSchema).safeParse(plain);
  if (parsed.success) return parsed.data;
  const faults = listed(plain).map((message) => modelMessageSchema.safeParse(message).error);
  throw notMessages(what, faults, parsed.error);
}

/** The events that UI messages from outside become. @throws TurnlogError `INVALID_INPUT` */
export async function transcriptOfUIMessages(
  messages: unknown,
  at: number,
): Promise<MessageTranscript> {
  const { convertToModelMessages, safeValidateUIMessages } = await import("ai");
  plainMessages("UI messages", messages);
  const valid = await safeValidateUIMessages({ messages });
  if (!valid.success) {
    const faults: unknown[] = [];
    for (const message of listed(messages)) {
      const found = await safeValidateUIMessages({ messages: [message] });
      // What it is wrapped in repeats the whole message.
      faults.push(found.success ? undefined : (found.error.cause ?? found.error));
    }
    throw notMessages("UI messages", faults.map(withoutIndex), valid.error.cause ?? valid.error);
  }
  let converted: ModelMessage[];
  try {
    converted = await convertToModelMessages(valid.data);
  } catch (error) {
    throw notMessages("UI messages", [], error);
  }
  const parsed = await parsedMessages("UI messages", converted);
  const dropped = droppedOfUIMessages(valid.data);
  return { ...transcribe(parsed, at, keptIds(valid.data)), dropped };
}

/** @throws TurnlogError `INVALID_INPUT` also where a value throws when it is read */
function plainMessages(what: string, messages: unknown): unknown {
  try {
    return withPlainData(messages);
  } catch (error) {
    throw notMessages(what, [], readableError(error));
  }
}

function listed(messages: unknown): readonly unknown[] {
  return Array.isArray(messages) ? messages : [];
}

/** Each was looked at as the only one of a list. */
function withoutIndex(fault: unknown): unknown {
  if (!(fault instanceof z.ZodError)) return fault;
  return new z.ZodError(fault.issues.map((issue) => ({ ...issue, path: issue.path.slice(1) })));
}

/** @param faults - What is wrong with each of them; `whole` is what is wrong where they are no list. */
function notMessages(what: string, faults: readonly unknown[], whole: unknown): TurnlogError {
  const why = schemaErrorText(faults) ?? faultWords(whole);
  const said = `These are not the AI SDK's ${what}: ${why}. Nothing was imported.`;
  return new TurnlogError("INVALID_INPUT", said, { cause: whole });
}
