/** What a page knows of the server's answers and of the messages of a session. */

import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { expectTypeOf, test } from "vitest";
import type { SessionEvent, SessionView } from "turnlog";
import { chatTransport, createClient, type SessionClient } from "turnlog/client";
import { createServer, type Server } from "turnlog/server";
import type { Runtime } from "turnlog";
import {
  fromUIMessage,
  readUIMessages,
  uiMessageChunks,
  uiMessages,
  type SessionMessage,
} from "turnlog/ui";

const client = createClient({ baseUrl: "" });

test("a client's session answers as the runtime's does", async () => {
  const session = client.session("s");
  expectTypeOf(session).toEqualTypeOf<SessionClient>();
  expectTypeOf(await session.view()).toEqualTypeOf<SessionView>();
  expectTypeOf((await session.messages()).messages).toEqualTypeOf<SessionMessage[]>();
  expectTypeOf((await session.send("Hello")).messageId).toEqualTypeOf<string>();
  expectTypeOf(await session.fork()).toEqualTypeOf<SessionClient>();
  for await (const event of session.events()) expectTypeOf(event).toEqualTypeOf<SessionEvent>();
  // @ts-expect-error A rewind names its place.
  void session.rewind({ tell: true });
});

test("`useChat` takes the transport, for messages of any type", () => {
  expectTypeOf(chatTransport(client)).toExtend<ChatTransport<UIMessage>>();
  expectTypeOf(chatTransport<SessionMessage>(client)).toExtend<ChatTransport<SessionMessage>>();
  expectTypeOf(chatTransport(client).stop("s")).toEqualTypeOf<Promise<void>>();
});

test("messages have the metadata and the data parts of turnlog", async () => {
  const { initial, fold } = uiMessages({ session: "s" });
  const { messages } = readUIMessages(fold(initial, {} as SessionEvent));
  for (const { message } of messages) expectTypeOf(message).toEqualTypeOf<SessionMessage>();
  expectTypeOf<NonNullable<SessionMessage["metadata"]>["turn"]>().toEqualTypeOf<number>();
  type Data = Extract<
    SessionMessage["parts"][number],
    { readonly type: "data-compaction" }
  >["data"];
  expectTypeOf<Data["afterTokens"]>().toEqualTypeOf<number>();
  for await (const chunk of uiMessageChunks([], { session: "s" }))
    expectTypeOf(chunk).toExtend<UIMessageChunk>();
  expectTypeOf(fromUIMessage).parameter(0).toExtend<object>();
});

test("a server is a handler of requests", () => {
  const server = createServer({} as Runtime, { token: false });
  expectTypeOf(server).toEqualTypeOf<Server>();
  expectTypeOf(server.fetch).toBeCallableWith(new Request("http://localhost"));
  expectTypeOf(server.fetch).returns.resolves.toEqualTypeOf<Response>();
});
