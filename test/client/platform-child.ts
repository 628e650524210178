/**
 * The client on another platform: `platform-child <url> <token>`. It prints what it got as one line of JSON:
 * the text of a reply by events, and by the chat's transport.
 */

import { readUIMessageStream, type UIMessage } from "ai";
import { chatTransport, createClient } from "../../src/public/client.ts";

const [, , baseUrl = "", token = ""] = process.argv;
const client = createClient({ baseUrl, token });

const session = await client.createSession("by-events");
await session.send("Hi");
let byEvents = "";
for await (const { type, data } of session.events()) {
  if (type === "part.text-delta") byEvents += data.text;
  if (type === "turn.ended") break;
}

const message: UIMessage = { id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] };
const stream = await chatTransport(client).sendMessages({
  chatId: "by-chat",
  messages: [message],
  trigger: "submit-message",
  messageId: undefined,
  abortSignal: undefined,
});
let last: UIMessage | undefined;
for await (const one of readUIMessageStream({ stream })) last = one;
const byChat = last?.parts.map((part) => (part.type === "text" ? part.text : "")).join("");

process.stdout.write(`${JSON.stringify({ byEvents, byChat })}\n`);
