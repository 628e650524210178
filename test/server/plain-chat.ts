/** The AI SDK's `Chat` without a framework, and the messages of chat c that the server tells a page. */

import { AbstractChat, type ChatInit, type ChatState, type UIMessage } from "ai";
import { z } from "zod";
import type { Serving } from "./serving.ts";

export class PlainChat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...rest }: ChatInit<UIMessage>) {
    const state: ChatState<UIMessage> = {
      status: "ready",
      error: undefined,
      messages: [...messages],
      pushMessage: (message) => {
        state.messages = [...state.messages, message];
      },
      popMessage: () => {
        state.messages = state.messages.slice(0, -1);
      },
      replaceMessage: (index, message) => {
        state.messages = state.messages.with(index, message);
      },
      snapshot: (value) => structuredClone(value),
    };
    super({ ...rest, state });
  }
}

const pageSchema = z.object({
  messages: z.array(z.custom<UIMessage>()),
  more: z.boolean(),
  position: z.number(),
  queue: z.array(z.unknown()),
});

export async function page(open: Serving, query = ""): Promise<z.output<typeof pageSchema>> {
  return pageSchema.parse(await open.json(`/api/chat/c/messages${query}`));
}

/** The messages of a page without what only one side knows: metadata of users' messages. */
export function shown(messages: readonly UIMessage[]): unknown {
  const plain: unknown = JSON.parse(JSON.stringify(messages));
  return z
    .array(z.looseObject({ id: z.string() }))
    .parse(plain)
    .map(({ metadata: _, ...rest }) => rest);
}
