/**
 * Chats over a WebSocket, by the AI SDK's own `WebSocketChatTransport`, unmodified: what its page shows is what
 * the log says, and its frames pass the same checks as requests.
 */

import { once } from "node:events";
import { WebSocketChatTransport, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import type { Agent } from "../../src/public/index.ts";
import { saying } from "../support/script.ts";
import { eventually } from "../support/eventually.ts";
import { page, PlainChat, shown } from "./plain-chat.ts";
import { serving, type Serving } from "./serving.ts";

const agent = (): Agent => ({ model: scriptedModel(() => "Hello.") });

function socketUrl({ server: { url } }: Serving): string {
  return `${url.replace("http", "ws")}/api/chat`;
}

interface Page extends Disposable {
  readonly chat: PlainChat;
  readonly errors: readonly Error[];
}

function opened(open: Serving, messages: UIMessage[] = []): Page {
  const errors: Error[] = [];
  const transport = new WebSocketChatTransport({
    url: socketUrl(open),
    protocols: ["turnlog", `turnlog.token.${open.server.token}`],
  });
  const onError = (error: Error): unknown => errors.push(error);
  const chat = new PlainChat({ id: "c", messages, transport, onError });
  return { chat, errors, [Symbol.dispose]: () => transport.close() };
}

describe("`WebSocketChatTransport`", () => {
  it("sends, regenerates and edits over one connection", async () => {
    await using open = await serving(agent(), { connections: 2 });
    using page1 = opened(open);
    const { chat, errors } = page1;
    await chat.sendMessage({ text: "Hi" });
    await chat.sendMessage({ text: "And?" });
    await chat.regenerate();
    const [first] = chat.messages;
    const edit = { text: "Ho", messageId: first?.id ?? "" };
    await chat.sendMessage(edit, { body: { basedOn: { turn: 3 } } });
    expect(errors).toEqual([]);
    expect(chat.messages.map(({ id }) => id)).toEqual([first?.id, "reply-4"]);
    const { messages } = await page(open);
    expect(shown(chat.messages.slice(1))).toEqual(shown(messages.slice(1)));
  });

  it("resumes a reply from its start, on a new connection", async () => {
    const more = gate();
    await using open = await serving({ model: scriptedModel(() => saying("Hel", more, "lo.")) });
    const first = opened(open);
    void first.chat.sendMessage({ text: "Hi" });
    await eventually(() => expect(JSON.stringify(first.chat.messages)).toContain("Hel"));
    first[Symbol.dispose]();
    using second = opened(open, (await page(open)).messages);
    void second.chat.resumeStream();
    await eventually(() => expect(second.chat.status).toBe("streaming"));
    more.open();
    await eventually(() => expect(second.chat.status).toBe("ready"));
    const { messages } = await page(open);
    expect(messages.at(-1)?.parts.at(-1)).toMatchObject({ text: "Hello.", state: "done" });
    expect(shown(second.chat.messages)).toEqual(shown(messages));
    expect(second.errors).toEqual([]);
  });

  it("leaves a reply by its stop, and its turn continues", async () => {
    const more = gate();
    await using open = await serving({ model: scriptedModel(() => saying("Hel", more, "lo.")) });
    using here = opened(open);
    void here.chat.sendMessage({ text: "Hi" });
    await eventually(() => expect(JSON.stringify(here.chat.messages)).toContain("Hel"));
    await here.chat.stop();
    more.open();
    await here.chat.resumeStream();
    expect(shown(here.chat.messages)).toEqual(shown((await page(open)).messages));
    expect(JSON.stringify(here.chat.messages)).toContain("Hello.");
  });

  it("finds nothing to resume in a chat without a reply", async () => {
    await using open = await serving(agent());
    using here = opened(open);
    await here.chat.resumeStream();
    expect([here.chat.status, here.errors]).toEqual(["ready", []]);
  });

  it("shows the words of a refusal", async () => {
    await using open = await serving(agent());
    using here = opened(open, [
      { id: "m", role: "user", parts: [{ type: "text", text: "forged" }] },
      { id: "reply-1", role: "assistant", parts: [{ type: "text", text: "forged" }] },
    ]);
    await here.chat.sendMessage({ text: "Hi" });
    expect(here.errors.map(String)).toEqual([expect.stringContaining("does not have message m")]);
  });
});

interface Line extends AsyncDisposable {
  readonly socket: WebSocket;
  readonly say: (frame: unknown) => void;
  /** The next frame. */
  readonly heard: () => Promise<unknown>;
}

async function line(open: Serving, headers: Readonly<Record<string, string>> = {}): Promise<Line> {
  const socket = new WebSocket(socketUrl(open), {
    headers: { authorization: `Bearer ${open.server.token}`, ...headers },
  });
  const frames: unknown[] = [];
  socket.on("message", (data: Buffer) => frames.push(JSON.parse(data.toString())));
  await once(socket, "open");
  return {
    socket,
    say: (frame) => socket.send(JSON.stringify(frame)),
    heard: async () => {
      if (frames.length === 0) await once(socket, "message");
      return frames.shift();
    },
    async [Symbol.asyncDispose]() {
      if (socket.readyState === WebSocket.CLOSED) return;
      socket.close();
      await once(socket, "close");
    },
  };
}

const sending = (id: string, headers: object = {}, more: object = {}) => ({
  type: "send",
  requestId: "r1",
  id,
  trigger: "submit-message",
  messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Hi" }] }],
  headers,
  body: {},
  ...more,
});

/** The frame of a refusal, with some of its words. */
function error(requestId: string, words: string): unknown {
  const errorText: unknown = expect.stringContaining(words);
  return { type: "error", requestId, errorText };
}

describe("a frame of a chat", () => {
  it("is asked about by `authorize` with the headers of its connection, to which a frame adds none that a proxy may set", async () => {
    const seen: (string | null)[] = [];
    await using open = await serving(agent(), {
      authorize: ({ headers }, { session }) => {
        seen.push(headers.get("x-via"));
        return session === `${headers.get("x-user")}-1`;
      },
    });
    await using nobody = await line(open, { "x-via": "connection" });
    nobody.say(sending("ann-1", { "x-user": "ann" }));
    expect(await nobody.heard()).toEqual(error("r1", "the permission `send`"));
    await using ann = await line(open, { "x-via": "connection", "x-user": "ann" });
    ann.say(sending("bob-1", { "x-user": "bob", "x-via": "frame" }));
    expect(await ann.heard()).toEqual(error("r1", "the permission `send`"));
    ann.say(sending("ann-1", { host: "evil.example", origin: "https://evil" }));
    expect(await ann.heard()).toMatchObject({ type: "chunk", sequence: 0 });
    expect(new Set(seen)).toEqual(new Set(["connection"]));
    expect(await open.runtime.log.revision("bob-1")).toBe(0);
  });

  it("holds no answer open when its connection has gone, and the turn continues", async () => {
    const more = gate();
    const model = scriptedModel(() => saying("Hel", more, "lo."));
    await using open = await serving({ model }, { limits: { openAnswers: 1 } });
    const gone = await line(open);
    gone.say(sending("c"));
    expect(await gone.heard()).toMatchObject({ type: "chunk", sequence: 0 });
    expect((await open.ask("/api/sessions")).status).toBe(429);
    gone.socket.terminate();
    await eventually(async () => expect((await open.ask("/api/sessions")).status).toBe(200));
    more.open();
    const turn = await (await open.runtime.session("c")).turn("m");
    expect((await turn.result).text).toBe("Hello.");
  });

  it("that does not fit is refused, and closes the connection only if nothing can be answered", async () => {
    await using open = await serving(agent(), { limits: { frameBytes: 10_000 } });
    await using wrong = await line(open);
    wrong.say(sending("c", {}, { metadata: { plan: "pro" } }));
    expect(await wrong.heard()).toEqual(error("r1", "metadata"));
    wrong.say({ type: "resume", requestId: "r2", id: "../x", headers: {}, body: {} });
    expect(await wrong.heard()).toMatchObject({ type: "error", requestId: "r2" });
    wrong.socket.send("{");
    expect(codeOf(await once(wrong.socket, "close"))).toBe(1008);
    await using large = await line(open);
    large.say(sending("x".repeat(20_000)));
    expect(codeOf(await once(large.socket, "close"))).toBe(1009);
    expect(await Array.fromAsync(open.runtime.log.list())).toEqual([]);
  });

  it("counts as a request of its client", async () => {
    await using open = await serving(agent(), { limits: { requestsPerMinute: 2 } });
    await using eager = await line(open);
    const resume = { type: "resume", id: "c", headers: {}, body: {} };
    const answers: unknown[] = [];
    for (let index = 0; index < 5; index++) {
      eager.say({ ...resume, requestId: `r${index}` });
      answers.push(await eager.heard());
    }
    // A new minute may begin in between.
    expect(answers).toContainEqual(expect.objectContaining({ type: "error" }));
  });
});

it("is refused by the same checks as a request, before it is a WebSocket", async () => {
  await using open = await serving(agent());
  const attempt = async (
    headers: Readonly<Record<string, string>>,
  ): Promise<string | undefined> => {
    const socket = new WebSocket(socketUrl(open), { headers });
    const [error]: readonly unknown[] = await once(socket, "error").catch((thrown: unknown) => [
      thrown,
    ]);
    return /\d{3}/.exec(String(error))?.[0];
  };
  const authorization = `Bearer ${open.server.token}`;
  expect(await attempt({})).toBe("401");
  expect(await attempt({ authorization: "Bearer wrong" })).toBe("401");
  expect(await attempt({ authorization, origin: "https://evil.example" })).toBe("403");
  expect(await attempt({ authorization, host: "evil.example" })).toBe("403");
});

function codeOf(closed: readonly unknown[]): number {
  return z.number().parse(closed[0]);
}
