/** The messages that `prepareStep` returned, checked, and as a difference to those that it was given. */

import type { ModelMessage } from "ai";
import { convertUint8ArrayToBase64 } from "@ai-sdk/provider-utils";
import {
  jsonObjectSchema,
  TurnlogError,
  userContentSchema,
  type MessageChange,
} from "../../events/index.ts";
import { toStoredContent, type Offloaded, type SessionBlobs } from "../../media/index.ts";
import {
  contextView,
  isSamePrompt,
  messageChange,
  promptMessages,
  promptProblems,
} from "../../projections/index.ts";
import { toJson } from "../../shared/index.ts";
import type { SessionState } from "../../state/index.ts";

/**
 * The difference to the prompt. `known`: messages of the session, which are taken as they are.
 * @throws TurnlogError `INVALID_INPUT` for messages that no provider takes
 */
export async function returnedMessages(
  session: string,
  { history, view, position, machine }: SessionState,
  returned: readonly ModelMessage[],
  known: ReadonlySet<ModelMessage>,
): Promise<MessageChange | undefined> {
  const given = promptMessages(history, view);
  const isGiven = (message: ModelMessage, index: number): boolean => message === given[index];
  if (returned.length === given.length && returned.every(isGiven)) return undefined;
  const { modelMessageSchema } = await import("ai");
  const messages = returned.map((message, index) => {
    if (known.has(message)) return message;
    const parsed = modelMessageSchema.safeParse(plainMessage(session, message));
    if (parsed.success) return parsed.data;
    throw refused(`\`messages[${index}]\` is no message of the AI SDK`);
  });
  assertSendable(messages);
  const change = messageChange(history, view, messages);
  const { turn, step } = machine.context;
  const data = { turn, step: step + 1, messages: change };
  const event = { position: position + 1, time: 0, type: "step.prepared", data } as const;
  const shown = promptMessages(history, contextView.fold(view, event));
  return isSamePrompt(shown, messages) ? change : messageChange(history, view, messages, true);
}

/** Bytes as base64 and URLs as text. Only the session adds measures of a blob. */
function plainMessage(session: string, message: ModelMessage): unknown {
  if (message.role === "user" && typeof message.content !== "string")
    return toJson({ ...message, content: toStoredContent(session, message.content) });
  return toJson(withTexts(message));
}

function withTexts(value: unknown): unknown {
  if (value instanceof URL) return value.href;
  if (value instanceof ArrayBuffer) return convertUint8ArrayToBase64(new Uint8Array(value));
  if (value instanceof Uint8Array) return convertUint8ArrayToBase64(value);
  if (Array.isArray(value)) return value.map(withTexts);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTexts(inner)]));
}

/** Law 4, before the call. A log may repeat call ids: requests have others. */
function assertSendable(messages: readonly ModelMessage[]): void {
  const system = messages.findIndex(({ role }) => role === "system");
  if (system !== -1)
    throw refused(
      `\`messages[${system}]\` is a system message. Return its text as \`instructions\``,
    );
  const [problem] = promptProblems(messages).filter(({ rule }) => rule !== "unique-calls");
  if (problem !== undefined)
    throw refused(
      `providers refuse \`messages[${problem.message}]\` (${problem.rule}): ${problem.what}`,
    );
  if (messages.length === 0) throw refused("`messages` is empty");
}

function refused(why: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `its answer: ${why}.`, {
    details: { option: "messages" },
  });
}

/** Moves large files of added user messages into blobs. */
export async function offloadedChange(
  change: MessageChange,
  blobs: Pick<SessionBlobs, "input">,
): Promise<Offloaded<MessageChange>> {
  const held: Offloaded<unknown>[] = [];
  const added: NonNullable<MessageChange["added"]>[number][] = [];
  for (const one of change.added ?? []) {
    const { message } = one;
    const content = userContentSchema.safeParse(message.content);
    const offloading =
      message.role === "user" && content.success ? blobs.input(content.data) : undefined;
    if (offloading === undefined) {
      added.push(one);
      continue;
    }
    const offloaded = await offloading;
    held.push(offloaded);
    const parts = plainParts(offloaded.content);
    added.push({ ...one, message: { ...message, content: parts } });
  }
  return {
    content: added.length === 0 ? change : { ...change, added },
    stored: held.flatMap(({ stored }) => stored),
    [Symbol.dispose]: () => {
      for (const one of held) one[Symbol.dispose]();
    },
  };
}

type Content = NonNullable<MessageChange["added"]>[number]["message"]["content"];

function plainParts(content: Parameters<SessionBlobs["input"]>[0]): Content {
  if (typeof content === "string") return content;
  return content.map((part) => jsonObjectSchema.parse(toJson(part)));
}
