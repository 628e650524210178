/** Lists the content of imported messages that a session does not store. Pure. */

import type { ModelMessage, UIMessage } from "ai";
import { saysSomething } from "../../media/index.ts";

export interface DroppedContent {
  /** The index of the message in the list. */
  readonly message: number;
  readonly id?: string;
  /**
   * A field of the message (`id`, `metadata`, …) or of a part (`filename`), the type of a part
   * (`data-weather`), or `message` for an empty message.
   */
  readonly what: string;
}

export function droppedOfModelMessages(
  messages: readonly ModelMessage[],
): readonly DroppedContent[] {
  return messages.flatMap((given, message) =>
    [
      ...(given.providerOptions === undefined ? [] : ["providerOptions"]),
      ...(given.role === "user" && !saysSomething(given.content) ? ["message"] : []),
      ...(given.role === "tool" ? given.content : []).flatMap((part) =>
        "providerOptions" in part && part.providerOptions !== undefined ? ["providerOptions"] : [],
      ),
      ...(given.role === "assistant" && typeof given.content !== "string"
        ? given.content
        : []
      ).flatMap((part) =>
        part.type === "file" && part.filename !== undefined ? ["filename"] : [],
      ),
    ].map((what) => ({ message, what })),
  );
}

/** Ids of user messages are kept if they are unique. */
export function droppedOfUIMessages(messages: readonly UIMessage[]): readonly DroppedContent[] {
  const kept = new Set(keptIds(messages));
  const last = messages.findLastIndex(({ role }) => role === "user");
  return messages.flatMap((given, message) => {
    const { id, role, metadata, parts } = given;
    const isKept = role === "user" && kept.delete(id);
    const says = parts.some((part) => saysSomething([part]) && isShown(part));
    const what = [
      ...(isKept ? [] : ["id"]),
      ...(metadata === undefined ? [] : ["metadata"]),
      ...(says ? [] : ["message"]),
      ...parts.flatMap((part) => droppedOfPart(part, role, message < last)),
    ];
    return what.map((one) => ({ message, id, what: one }));
  });
}

/** The ids for the user messages of a chat; undefined for a duplicate id. */
export function keptIds(messages: readonly UIMessage[]): readonly (string | undefined)[] {
  const seen = new Set<string>([""]);
  return messages.flatMap(({ role, id }) => {
    if (role !== "user") return [];
    const isNew = !seen.has(id);
    seen.add(id);
    return [isNew ? id : undefined];
  });
}

type Part = UIMessage["parts"][number];

function droppedOfPart(part: Part, role: UIMessage["role"], isBefore: boolean): readonly string[] {
  if (!isShown(part)) return part.type === "step-start" ? [] : [part.type];
  if (part.type === "file") {
    return role === "assistant" && part.filename !== undefined ? ["filename"] : [];
  }
  if (!("toolCallId" in part)) return [];
  // The AI SDK leaves out calls that are incomplete or whose approval is out of date.
  const isLeftOut =
    part.state === "input-streaming" || (part.state === "approval-requested" && isBefore);
  return isLeftOut ? [part.type] : [];
}

/** Whether the AI SDK converts a part for a model. */
function isShown({ type }: Part): boolean {
  return !type.startsWith("data-") && !type.startsWith("source-") && type !== "step-start";
}
