/** What `useChat` gets from the transport: each chunk of a reply once, whatever becomes of connections. */

import { setImmediate } from "node:timers/promises";
import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { chatTransport, createClient } from "../../src/public/client.ts";
import {
  frame,
  json,
  problem,
  protocol,
  ScriptedServer,
  stream,
  unreachable,
} from "./scripted-server.ts";
import { eventually } from "../support/eventually.ts";
import type { SessionChunk } from "../../src/ui/index.ts";

const start: SessionChunk = {
  type: "start",
  messageId: "reply-2",
  messageMetadata: { turn: 2, position: 9, startedAt: 1 },
};
const delta = (text: string): SessionChunk => ({ type: "text-delta", id: "t", delta: text });
const startStep: SessionChunk = { type: "start-step" };
const finish: SessionChunk = { type: "finish", finishReason: "stop" };
const done = "data: [DONE]\n\n";

function transportOf(
  server: ScriptedServer,
  options: object = {},
): ReturnType<typeof chatTransport> {
  return chatTransport(createClient({ baseUrl: "http://x", fetch: server.fetch, ...options }));
}

const said = (id: string, role: UIMessage["role"] = "user"): UIMessage => ({
  id,
  role,
  parts: [{ type: "text", text: id }],
});

type Sent = Partial<Parameters<ChatTransport<UIMessage>["sendMessages"]>[0]>;

function send(transport: ChatTransport<UIMessage>, options: Sent = {}) {
  return transport.sendMessages({
    trigger: "submit-message",
    chatId: "s",
    messageId: undefined,
    messages: [said("a")],
    abortSignal: undefined,
    ...options,
  });
}

async function chunksOf(
  given: Promise<ReadableStream<UIMessageChunk> | null>,
): Promise<readonly UIMessageChunk[]> {
  const chunks = await given;
  if (chunks === null) throw new Error("There is no stream.");
  return await Array.fromAsync(chunks);
}

describe("a reply", () => {
  it("continues behind the last event that came, in the middle of an event too", async () => {
    const server = new ScriptedServer(
      stream([frame(start, 9), frame(delta("a"), 10), frame(delta("b")), "data: {"], {
        end: "break",
      }),
      unreachable,
      // The chunk of event 11 that came is sent again, the others of the event follow.
      stream([frame(start, 9), frame(delta("b")), frame(startStep), frame(delta("c"), 11)], {
        end: "break",
      }),
      stream([frame(start, 9), frame(delta("d"), 12), frame(finish, 13), done]),
    );
    const chunks = await chunksOf(send(transportOf(server)));
    expect(chunks).toEqual([
      start,
      delta("a"),
      delta("b"),
      startStep,
      delta("c"),
      delta("d"),
      finish,
    ]);
    expect(server.paths).toEqual([
      "POST /api/chat",
      "GET /api/chat/s/stream?turn=2&after=10",
      "GET /api/chat/s/stream?turn=2&after=10",
      "GET /api/chat/s/stream?turn=2&after=11",
    ]);
  });

  it("is read with any ends of lines, cut anywhere", async () => {
    const lines = frame(delta("a"), 10).replaceAll("\n", "\r\n");
    const cut = lines.indexOf("\n");
    const server = new ScriptedServer(
      stream([frame(start, 9), lines.slice(0, cut), lines.slice(cut)], { end: "break" }),
      stream([frame(start, 9), done]),
    );
    expect(await chunksOf(send(transportOf(server)))).toEqual([start, delta("a")]);
    expect(server.paths[1]).toBe("GET /api/chat/s/stream?turn=2&after=10");
  });

  it("is asked for again with the same key, if the request got no answer", async () => {
    const server = new ScriptedServer(
      unreachable,
      problem(503, "RUNTIME_CLOSED"),
      stream([], { end: "break" }),
      stream([frame(start, 9), done]),
    );
    expect(await chunksOf(send(transportOf(server)))).toEqual([start]);
    expect(server.paths).toEqual(Array.from({ length: 4 }, () => "POST /api/chat"));
    const keys = server.seen.map(({ headers }) => headers.get("idempotency-key"));
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^\w{10,}$/);
  });

  it("that the server refuses is an error with the server's code", async () => {
    const server = new ScriptedServer(problem(409, "MESSAGE_CONFLICT"));
    await expect(chunksOf(send(transportOf(server)))).rejects.toMatchObject({
      code: "MESSAGE_CONFLICT",
    });
  });

  it("is asked for by the newest messages, and the ids of all", async () => {
    const server = new ScriptedServer(stream([done]));
    const messages = [said("a"), said("reply-1", "assistant"), said("b")];
    const trigger = "regenerate-message" as const;
    const body = { basedOn: { turn: 1 } };
    await chunksOf(send(transportOf(server), { messages, trigger, messageId: "reply-1", body }));
    expect(server.seen[0]?.body).toEqual({
      id: "s",
      trigger,
      messageId: "reply-1",
      messages: [{ ...said("a"), parts: [] }, messages[1], messages[2]],
      basedOn: { turn: 1 },
    });
  });
});

it("a request says what its page has shown, also of what an edit or another reply takes away", async () => {
  const reply = (turn: number) =>
    stream([frame({ ...start, messageMetadata: { turn, position: 9, startedAt: 1 } }, 9), done]);
  const server = new ScriptedServer(...[1, 2, 3, 4, 5].map(reply), reply(5));
  const transport = transportOf(server);
  const shown = (turn: number): UIMessage => ({
    ...said(`reply-${turn}`, "assistant"),
    metadata: { turn },
  });
  const sent = async (options: Sent) => await chunksOf(send(transport, options));
  await sent({ messages: [said("a")] });
  await sent({ messages: [said("a"), shown(1), said("b")] });
  await sent({ messages: [said("a")], trigger: "regenerate-message", messageId: "reply-1" });
  await sent({ messages: [said("a")], messageId: "a" });
  // Two at once: the second comes before the first one's reply.
  const edited = send(transport, { messages: [said("a")], messageId: "a" });
  const next = send(transport, { messages: [said("a"), said("c")] });
  await Promise.all([chunksOf(edited), chunksOf(next)]);
  expect(server.seen.map(({ body }) => body)).toMatchObject([
    // Perhaps this page loads no history.
    {},
    { basedOn: { turn: 1, messageId: "a" } },
    { basedOn: { turn: 2, messageId: "b" } },
    { basedOn: { turn: 3 } },
    { basedOn: { turn: 4 } },
    {},
  ]);
  for (const place of [0, -1]) expect(server.seen.at(place)?.body).not.toHaveProperty("basedOn");
});

it("a page that has resumed a reply edits on its basis", async () => {
  const server = new ScriptedServer(stream([frame(start, 9), done]), stream([done]));
  const transport = transportOf(server);
  await chunksOf(transport.reconnectToStream({ chatId: "s" }));
  await chunksOf(send(transport, { messages: [said("a")], messageId: "a" }));
  expect(server.seen[1]?.body).toMatchObject({ basedOn: { turn: 2 } });
});

describe("a stop", () => {
  it("stops the turn once the server has the message, and the page gets the end of the reply", async () => {
    const answered = Promise.withResolvers<void>();
    const stopped = Promise.withResolvers<void>();
    let isKept = false;
    const server = new ScriptedServer(
      async () => {
        await answered.promise;
        const body = new ReadableStream<Uint8Array>({
          async start(controller) {
            const write = (text: string): void =>
              controller.enqueue(new TextEncoder().encode(text));
            write(frame(start, 9));
            await stopped.promise;
            write(frame(finish, 10) + done);
            controller.close();
          },
        });
        const headers = { ...protocol, "content-type": "text/event-stream" };
        return new Response(body, { headers });
      },
      (request) => {
        isKept = request.keepalive;
        stopped.resolve();
        return json({ was: "running" })(request);
      },
    );
    const transport = transportOf(server);
    const chunks = chunksOf(send(transport));
    await eventually(() => {
      expect(server.paths).toEqual(["POST /api/chat"]);
    });
    const stopping = transport.stop("s");
    // There is no turn to stop before the server has the message.
    for (let tick = 0; tick < 5; tick++) await setImmediate();
    expect(server.paths).toEqual(["POST /api/chat"]);
    answered.resolve();
    await stopping;
    expect(server.paths).toEqual(["POST /api/chat", "POST /api/chat/s/stop"]);
    // Also when the user leaves the page.
    expect(isKept).toBe(true);
    expect(await chunks).toEqual([start, finish]);
  });

  it("is repeated until the server is there, and a message without an answer is not", async () => {
    const server = new ScriptedServer(
      stream([frame(start, 9)], { end: "hang" }),
      unreachable,
      json({ was: "running" }),
    );
    const transport = transportOf(server);
    await (await send(transport)).getReader().read();
    await transport.stop("s");
    expect(server.paths.slice(1)).toEqual(["POST /api/chat/s/stop", "POST /api/chat/s/stop"]);

    const away = new ScriptedServer(unreachable, json({ was: "idle" }));
    const gone = transportOf(away);
    const sending = chunksOf(send(gone));
    sending.catch(() => {});
    await gone.stop("s");
    await expect(sending).rejects.toMatchObject({ name: "AbortError" });
    expect(away.paths).toEqual(["POST /api/chat", "POST /api/chat/s/stop"]);
  });

  it("that the server refuses is an error", async () => {
    const server = new ScriptedServer(problem(403, "FORBIDDEN"));
    await expect(transportOf(server).stop("s")).rejects.toMatchObject({ code: "FORBIDDEN" });
  });
});

it("a component that unmounts leaves the stream, once the server has the message, and stops nothing", async () => {
  const answered = Promise.withResolvers<void>();
  const left: AbortSignal[] = [];
  const server = new ScriptedServer(
    async (request) => {
      left.push(request.signal);
      await answered.promise;
      return await stream([frame(start, 9)], { end: "hang" })(request);
    },
    (request) => {
      left.push(request.signal);
      return stream([frame(start, 9)], { end: "hang" })(request);
    },
  );
  const transport = transportOf(server);
  const unmounted = new AbortController();
  const sent = chunksOf(send(transport, { abortSignal: unmounted.signal }));
  sent.catch(() => {});
  await eventually(() => expect(server.paths).toHaveLength(1));
  unmounted.abort();
  expect(left[0]?.aborted).toBe(false);
  answered.resolve();
  await eventually(() => expect(left[0]?.aborted).toBe(true));
  const resumed = new AbortController();
  await transport.reconnectToStream({ chatId: "s", abortSignal: resumed.signal });
  resumed.abort();
  await eventually(() => expect(left[1]?.aborted).toBe(true));
  expect(server.paths).toEqual(["POST /api/chat", "GET /api/chat/s/stream"]);
});

it("a reply that nobody reads any more is left, and its turn continues", async () => {
  const left: AbortSignal[] = [];
  const server = new ScriptedServer((request) => {
    left.push(request.signal);
    return stream([frame(start, 9)], { end: "hang" })(request);
  });
  const transport = transportOf(server);
  const streams = [await send(transport), await transport.reconnectToStream({ chatId: "s" })];
  for (const one of streams) {
    const reader = one?.getReader();
    await reader?.read();
    await reader?.cancel();
  }
  expect(left.map(({ aborted }) => aborted)).toEqual([true, true]);
  expect(server.paths.toSorted()).toEqual(["GET /api/chat/s/stream", "POST /api/chat"]);
});

describe("a page that loads", () => {
  it("gets the whole last reply, then live", async () => {
    const server = new ScriptedServer(
      stream([frame(start, 9), frame(delta("a"), 10)], { end: "break" }),
      stream([frame(start), frame(finish, 11), done]),
    );
    const chunks = await chunksOf(transportOf(server).reconnectToStream({ chatId: "s" }));
    expect(chunks).toEqual([start, delta("a"), finish]);
    expect(server.paths).toEqual([
      "GET /api/chat/s/stream",
      "GET /api/chat/s/stream?turn=2&after=10",
    ]);
  });

  it.each([
    ["a new chat", problem(404, "SESSION_NOT_FOUND")],
    ["a chat without a reply", () => new Response(null, { status: 204, headers: protocol })],
    ["a stream without a chunk", stream([done])],
  ] as const)("gets nothing of %s", async (_, answer) => {
    const transport = transportOf(new ScriptedServer(answer));
    expect(await transport.reconnectToStream({ chatId: "s" })).toBeNull();
  });
});
