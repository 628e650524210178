/** Brings a foreign conversation into the AI SDK's model messages, with what is known of its responses. Pure. */

import type { ModelMessage } from "ai";
import { createHash } from "node:crypto";
import { TurnlogError } from "../../events/index.ts";
import { disjointUsage } from "../../projections/index.ts";
import { toJson } from "../../shared/index.ts";
import type { DroppedContent } from "./dropped-content.ts";
import { notMessages } from "./message-errors.ts";
import type { Reported } from "./transcript.ts";
import { wordsOf, type Adapted, type Format, type Part } from "./adapted-message.ts";
import type { LoggedCall } from "./logged-call.ts";

export interface Conversation {
  /** Without system messages. */
  readonly messages: readonly ModelMessage[];
  readonly instructions: string;
  readonly dropped: readonly DroppedContent[];
  /** What providers told about their responses, by the index of the message. */
  readonly reported: ReadonlyMap<number, Reported>;
}

/** @throws TurnlogError `INVALID_INPUT` */
export function conversationOf(call: LoggedCall, format: Format): Conversation {
  const given = [...call.messages, ...call.reply];
  const faults = given.map((one) => format.message.safeParse(one).error);
  const fault = faults.find((one) => one !== undefined);
  if (fault !== undefined) throw notMessages(format.kind, given, faults, fault);
  const system = call.system === undefined ? [] : [{ role: "system", content: call.system }];
  const prompt = system.map((one) => wordsOf(format.message.parse(one).parts));
  const building = new Building(given.length);
  for (const [index, one] of given.entries()) building.add(format.message.parse(one), index);
  const { messages, instructions, dropped } = building;
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  return {
    messages,
    instructions: [...prompt, ...instructions].join("\n\n"),
    dropped,
    reported: new Map(call.reply.length === 0 ? [] : [[last, reportOf(call, format)]]),
  };
}

class Building {
  readonly messages: ModelMessage[] = [];
  readonly instructions: string[] = [];
  readonly dropped: DroppedContent[] = [];
  readonly #size: number;
  /** The name of the tool of each call. */
  readonly #named = new Map<string, string>();
  /** The calls without a result, which need no name in old messages. */
  readonly #open = new Set<string>();

  constructor(size: number) {
    this.#size = size;
  }

  add({ role, parts: given, dropped }: Adapted, index: number): void {
    for (const what of dropped) this.dropped.push({ message: index, what });
    const parts = given.map((part) => this.#linked(part, index));
    switch (role) {
      case "system":
        if (parts.length > 0) this.instructions.push(wordsOf(parts));
        return;
      case "assistant":
        this.messages.push({ role, content: [...parts] });
        return;
      case "user": {
        const results = parts.flatMap((part) => (part.type === "tool-result" ? [part] : []));
        const content = parts.flatMap((part) =>
          part.type === "text" || part.type === "file" ? [part] : [],
        );
        if (results.length > 0) this.messages.push({ role: "tool", content: results });
        if (content.length > 0) this.messages.push({ role, content });
        if (parts.length === 0) this.dropped.push({ message: index, what: "message" });
      }
    }
  }

  /** Calls of old have no ids, and results name no tool. */
  #linked(part: Part, index: number): Part {
    if (part.type === "tool-call") {
      const toolCallId = part.toolCallId || `call-${this.#named.size + 1}`;
      this.#named.set(toolCallId, part.toolName);
      this.#open.add(toolCallId);
      return { ...part, toolCallId };
    }
    if (part.type !== "tool-result") return part;
    const isOld = part.toolCallId === "";
    const toolCallId = isOld ? ([...this.#open].at(-1) ?? "") : part.toolCallId;
    const toolName = this.#named.get(toolCallId);
    if (toolName === undefined || !this.#open.delete(toolCallId)) {
      const what = isOld ? `of ${part.toolName}` : toolCallId;
      const why = toolName === undefined ? "has no call before it" : "is not the first of its call";
      throw new TurnlogError(
        "INVALID_INPUT",
        `Message ${index + 1} of ${this.#size}: the result ${what} ${why}. Nothing was imported.`,
      );
    }
    return { ...part, toolCallId, toolName };
  }
}

/** The figures of a response, as far as it has them. */
function reportOf({ request, response }: LoggedCall, format: Format): Reported {
  const { model = request["model"], id, created = response["created_at"], usage: raw } = response;
  const tokens = format.usage.safeParse(raw).data;
  const usage = tokens === undefined ? undefined : disjointUsage(tokens);
  return {
    ...(typeof model === "string" ? { model: { provider: format.provider, modelId: model } } : {}),
    ...(usage === undefined ? {} : { usage: { ...usage, raw: toJson(raw) } }),
    ...(typeof created === "number" ? { time: created * 1000 } : {}),
    response: typeof id === "string" ? { id } : {},
  };
}

/**
 * A request of a log repeats the conversation so far. One that begins with a logged request and its response
 * continues that conversation.
 */
export function withoutRepeats(conversations: readonly Conversation[]): readonly Conversation[] {
  const found: Conversation[] = [];
  const ends = new Map<string, number>();
  for (const one of conversations) {
    let digest = "";
    const digests = one.messages.map((message) => {
      digest = createHash("sha256").update(digest).update(JSON.stringify(message)).digest("hex");
      return digest;
    });
    const begun = digests.slice(0, -1).findLast((beginning) => ends.has(beginning));
    const place = begun === undefined ? undefined : ends.get(begun);
    const before = place === undefined ? undefined : found[place];
    const index = place ?? found.length;
    found[index] = { ...one, reported: new Map([...(before?.reported ?? []), ...one.reported]) };
    if (begun !== undefined) ends.delete(begun);
    if (one.reported.size > 0) ends.set(digest, index);
  }
  return found;
}
