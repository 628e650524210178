/**
 * Pages that take messages away by themselves before they send, as assistant-ui does for its edits and reloads, and
 * pages that load the messages again after a refusal.
 */

import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { chatTransport, createClient } from "../../src/public/client.ts";
import { createRuntime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { PlainChat } from "../server/plain-chat.ts";

it("an edit names its message, a reload of a reply needs no name, and a refusal is over after a load", async () => {
  let calls = 0;
  await using runtime = await createRuntime({
    memory: true,
    agent: { model: scriptedModel(() => `${++calls}`) },
  });
  const { fetch } = createServer(runtime, { token: "secret" });
  const client = createClient({ baseUrl: "http://localhost", token: "secret", fetch });
  const transport = chatTransport(client);
  const errors: string[] = [];
  let edited: string | undefined;
  const chat = new PlainChat({
    id: "c",
    transport: {
      ...transport,
      sendMessages: async (asked) =>
        await transport.sendMessages({ ...asked, messageId: edited ?? asked.messageId }),
    },
    onError: ({ message }) => errors.push(message),
  });
  const ids = (): readonly string[] => chat.messages.map(({ id }) => id);
  const load = async (): Promise<void> => {
    const { messages } = await client.session("c").messages();
    expect(messages.map(({ parts }) => parts)).toEqual(chat.messages.map(({ parts }) => parts));
    chat.messages = messages;
  };
  await chat.sendMessage({ text: "one" });
  await chat.sendMessage({ text: "two" });

  edited = ids()[2];
  chat.messages = chat.messages.slice(0, 2);
  await chat.sendMessage({ text: "two, changed" });
  edited = undefined;
  expect(ids()[3]).toBe("reply-3");

  chat.messages = chat.messages.slice(0, 3);
  await chat.regenerate();
  expect(ids()[3]).toBe("reply-4");
  expect(errors).toEqual([]);
  await load();

  // An edit that does not name its message is a page that is behind.
  const before = chat.messages;
  chat.messages = before.slice(0, 2);
  await chat.sendMessage({ text: "two, once more" });
  expect(errors).toEqual([expect.stringContaining("has moved on")]);
  chat.messages = before;
  await load();
  await chat.sendMessage({ text: "two, once more", messageId: ids()[2] ?? "" });
  expect(errors.length).toBe(1);
  expect(ids()[3]).toBe("reply-5");
  await load();
});
