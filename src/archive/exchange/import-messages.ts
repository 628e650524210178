/** Imports messages as sessions. Loads the AI SDK only then: reading a store does not need it. */

import { check, name, oneOf, optionsOf, time } from "../../validation/index.ts";
import {
  defined,
  jsonObjectSchema,
  parseSessionId,
  type EventLog,
  type JsonObject,
} from "../../events/index.ts";
import {
  droppedOfModelMessages,
  droppedOfUIMessages,
  keptIds,
  type DroppedContent,
} from "./dropped-content.ts";
import { appendImported, type Imported } from "./import-session.ts";
import {
  notMessages,
  conversationOf,
  withoutRepeats,
  kindOfCalls,
  loggedCalls,
} from "./conversation.ts";
import { transcribe, type MessageTranscript, withPlainData } from "./transcribe.ts";
import { readableError } from "../../shared/index.ts";
import { messageKinds, type MessageKind } from "./adapted-message.ts";
import type { ModelMessage } from "ai";
import { z } from "zod";

interface MessagesOptions {
  /** The name of the session; of several, `as-1`, `as-2` and so on. */
  readonly as: string;
  /** Time of all events in epoch milliseconds, if messages have none. Default: now. */
  readonly time?: number;
  /** Whose messages they are. Default: by the names that only they use. */
  readonly from?: MessageKind;
  /** Of each session, to choose them by. */
  readonly metadata?: JsonObject;
}

export interface ImportedMessages extends Imported {
  /** The text of the system messages, or empty. No session stores it: pass it to the agent as `instructions`. */
  readonly instructions: string;
  /** Content that no event holds. Empty if everything was kept. */
  readonly dropped: readonly DroppedContent[];
}

const schema = optionsOf<MessagesOptions>(
  { time, from: oneOf(...messageKinds), metadata: jsonObjectSchema },
  { as: name },
);

export async function importMessages(
  log: EventLog,
  value: unknown,
  options: MessagesOptions,
): Promise<readonly ImportedMessages[]> {
  check(schema, options, "importMessages", { name: "options" });
  const found = await transcriptsOf(value, options.as, options);
  const imported: ImportedMessages[] = [];
  for (const { session, events, ...rest } of found)
    imported.push({ ...(await appendImported(log, session, events)), ...rest });
  return imported;
}

interface NamedTranscript extends MessageTranscript {
  readonly session: string;
}

/**
 * The sessions in a value, named `as`, or `as-1`, `as-2` and so on.
 * @throws TurnlogError `INVALID_INPUT`
 */
export async function transcriptsOf(
  value: unknown,
  as: string,
  { from, time: given, metadata }: Omit<MessagesOptions, "as">,
): Promise<readonly NamedTranscript[]> {
  const importedAt = given ?? Date.now();
  const calls = loggedCalls(plainMessages(from ?? "model-messages", value));
  const kind = from ?? kindOfCalls(calls);
  const found = [];
  if (kind === "openai" || kind === "anthropic") {
    const format =
      kind === "openai"
        ? (await import("./openai-messages.ts")).openai
        : (await import("./anthropic-messages.ts")).anthropic;
    for (const one of withoutRepeats(calls.map((call) => conversationOf(call, format)))) {
      const { instructions, dropped, reported } = one;
      const { events } = transcribe(one.messages, importedAt, {
        provider: format.provider,
        reported,
      });
      found.push({ events, instructions, dropped });
    }
  } else {
    const read = kind === "ui-messages" ? transcriptOfUIMessages : transcriptOfModelMessages;
    for (const { messages } of calls) found.push(await read(messages, importedAt));
  }
  return found.map((one, index) => ({
    ...one,
    events: one.events.map((event) =>
      event.type === "session.created"
        ? { ...event, data: { ...event.data, ...defined({ metadata }) } }
        : event,
    ),
    session: parseSessionId(found.length === 1 ? as : `${as}-${index + 1}`),
  }));
}

/** @throws TurnlogError `INVALID_INPUT` */
export async function transcriptOfModelMessages(
  messages: unknown,
  importedAt: number,
): Promise<MessageTranscript> {
  const parsed = await parsedMessages("model-messages", messages);
  return { ...transcribe(parsed, importedAt), dropped: droppedOfModelMessages(parsed) };
}

async function parsedMessages(
  kind: MessageKind,
  messages: unknown,
): Promise<readonly ModelMessage[]> {
  const { modelMessageSchema } = await import("ai");
  const plain = plainMessages(kind, messages);
  const parsed = z.array(modelMessageSchema).safeParse(plain);
  if (parsed.success) return parsed.data;
  const faults = listed(plain).map((message) => modelMessageSchema.safeParse(message).error);
  throw notMessages(kind, plain, faults, parsed.error);
}

/** @throws TurnlogError `INVALID_INPUT` */
export async function transcriptOfUIMessages(
  messages: unknown,
  importedAt: number,
): Promise<MessageTranscript> {
  const { convertToModelMessages, safeValidateUIMessages } = await import("ai");
  plainMessages("ui-messages", messages);
  const valid = await safeValidateUIMessages({ messages });
  if (!valid.success) {
    const faults: unknown[] = [];
    for (const message of listed(messages)) {
      const found = await safeValidateUIMessages({ messages: [message] });
      // The outer error repeats the whole message.
      faults.push(found.success ? undefined : (found.error.cause ?? found.error));
    }
    throw notMessages(
      "ui-messages",
      messages,
      faults.map(withoutIndex),
      valid.error.cause ?? valid.error,
    );
  }
  let converted: ModelMessage[];
  try {
    converted = await convertToModelMessages(valid.data);
  } catch (error) {
    throw notMessages("ui-messages", messages, [], error);
  }
  const parsed = await parsedMessages("ui-messages", converted);
  const dropped = droppedOfUIMessages(valid.data);
  return { ...transcribe(parsed, importedAt, { userIds: keptIds(valid.data) }), dropped };
}

/** @throws TurnlogError `INVALID_INPUT`, even if reading a value throws */
function plainMessages(kind: MessageKind, messages: unknown): unknown {
  try {
    return withPlainData(messages);
  } catch (error) {
    throw notMessages(kind, undefined, [], readableError(error));
  }
}

function listed(messages: unknown): readonly unknown[] {
  return Array.isArray(messages) ? messages : [];
}

/** Removes the index: each message was validated as the only one of a list. */
function withoutIndex(fault: unknown): unknown {
  if (!(fault instanceof z.ZodError)) return fault;
  return new z.ZodError(fault.issues.map((issue) => ({ ...issue, path: issue.path.slice(1) })));
}
