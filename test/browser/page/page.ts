/**
 * The page of the browser's tests: an unmodified `useChat`. The tests act on it through `globalThis.chat`, and
 * see what a user sees: messages, status, errors.
 */

import { Chat, useChat, type UseChatOptions } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  WebSocketChatTransport,
  type ChatInit,
  type ChatTransport,
  type UIMessage,
} from "ai";
import { createElement, Fragment, StrictMode, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { chatTransport, createClient } from "../../../src/public/client.ts";

declare const document: { readonly body: Parameters<typeof createRoot>[0] };
declare const location: { readonly search: string };

const search = new URLSearchParams(location.search);
const id = search.get("id") ?? "";
const headers = { authorization: "Bearer token" };
const client = createClient({ baseUrl: "", token: "token", silenceMs: 2_000 });
const transports: Readonly<Record<string, () => ChatTransport<UIMessage>>> = {
  default: () => new DefaultChatTransport({ headers }),
  websocket: () =>
    new WebSocketChatTransport({
      url: "/api/chat",
      protocols: ["turnlog", "turnlog.token.token"],
    }),
};
const own = chatTransport(client);
const transport = transports[search.get("transport") ?? ""]?.() ?? own;
const stop = (): Promise<void> => own.stop(id);

/** Every error that the page showed. */
const errors: string[] = [];

function settings(messages: UIMessage[]): ChatInit<UIMessage> {
  return {
    id,
    messages,
    transport,
    experimental_queue: search.has("queue"),
    onError: (error) => errors.push(String(error)),
    sendAutomaticallyWhen: (options) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(options) ||
      (search.has("calls") && lastAssistantMessageIsCompleteWithToolCalls(options)),
  };
}

function Page(options: UseChatOptions<UIMessage>): ReactNode {
  const chat = useChat({ ...options, resume: true });
  Object.assign(globalThis, { chat, errors, stop });
  return createElement("pre", undefined, JSON.stringify(chat.messages, undefined, 1));
}

const session = await client.createSession(id);
const { messages } = await session.messages();
const mode = search.has("strict") ? StrictMode : Fragment;
const options = settings(messages);
/** A chat that is made outside of its component can be followed. */
const followed = search.has("follow") ? new Chat(options) : undefined;
if (followed !== undefined) client.followChat(followed);
const page = createElement(Page, followed === undefined ? options : { chat: followed });
const root = createRoot(document.body);
root.render(createElement(mode, undefined, page));
Object.assign(globalThis, { unmount: () => root.unmount() });
