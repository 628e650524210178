/**
 * The chat protocol, by the AI SDK's own client: `Chat` with its default transport, unmodified, against a
 * real server of Node. What the page shows is what the log says.
 */

import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  tool,
  type ChatInit,
  type UIMessage,
} from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import {
  createRuntime,
  encryptedLog,
  memoryKeys,
  openMemoryLog,
  type Agent,
} from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { call, calling, saying } from "../support/script.ts";
import { page, PlainChat, shown } from "./plain-chat.ts";
import { eventsUntil, readEvents, serving, type Serving } from "./serving.ts";
import { eventually } from "../support/eventually.ts";

function chatOf(open: Serving, init: Partial<ChatInit<UIMessage>> = {}): PlainChat {
  const { url, token } = open.server;
  const headers = { authorization: `Bearer ${token}` };
  return new PlainChat({
    id: "c",
    onError: (error) => {
      errors.push(error);
    },
    ...init,
    transport: new DefaultChatTransport({ api: `${url}/api/chat`, headers }),
  });
}
let errors: unknown[] = [];

const texts = (...said: readonly string[]): Agent => ({ model: scriptedModel(said) });

describe("useChat's client", () => {
  it("sends messages and shows what the log says", async () => {
    errors = [];
    await using open = await serving(texts("Hello.", "Fine."));
    const chat = chatOf(open);
    await chat.sendMessage({ text: "Hi" });
    await chat.sendMessage({ text: "How are you?" });
    expect(errors).toEqual([]);
    expect(chat.messages.map(({ id }) => id)).toEqual([
      chat.messages[0]?.id,
      "reply-1",
      chat.messages[2]?.id,
      "reply-2",
    ]);
    expect(shown((await page(open)).messages)).toEqual(shown(chat.messages));
  });

  it("edits a message, also twice, and continues", async () => {
    errors = [];
    await using open = await serving(texts("1", "2", "2b", "2c", "3"));
    const chat = chatOf(open);
    await chat.sendMessage({ text: "one" });
    await chat.sendMessage({ text: "two" });
    const messageId = chat.messages[2]?.id ?? "";
    await chat.sendMessage({ text: "two, changed", messageId });
    await chat.sendMessage({ text: "two, changed again", messageId });
    await chat.sendMessage({ text: "three" });
    expect(errors).toEqual([]);
    const { messages } = await page(open);
    expect(messages.map(textOf)).toEqual(["one", "1", "two, changed again", "2c", "three", "3"]);
    expect(chat.messages.map(textOf)).toEqual(messages.map(textOf));
    expect(await (await open.runtime.session("c")).branches()).toHaveLength(3);
  });

  it("edits a message in a page that was loaded after an edit, and continues", async () => {
    errors = [];
    await using open = await serving(texts("1", "1b", "1c", "2"));
    const first = chatOf(open);
    await first.sendMessage({ text: "one" });
    await first.sendMessage({ text: "one, changed", messageId: first.messages[0]?.id ?? "" });
    const chat = chatOf(open, { messages: (await page(open)).messages });
    const messageId = chat.messages[0]?.id ?? "";
    await chat.sendMessage({ text: "one, changed again", messageId });
    await chat.sendMessage({ text: "two" });
    expect(errors).toEqual([]);
    const { messages } = await page(open);
    expect(messages.map(textOf)).toEqual(["one, changed again", "1c", "two", "2"]);
    expect(chat.messages.map(textOf)).toEqual(messages.map(textOf));
    // The page shows a message of a branch that another tab left.
    await (await open.runtime.session("c")).checkout(1);
    await chat.sendMessage({ text: "three" });
    expect(errors.map(String)).toEqual([expect.stringContaining("STALE")]);
  });

  it("regenerates a reply, and the page that still shows the former one gets the new one", async () => {
    errors = [];
    await using open = await serving(texts("first", "second", "third"));
    const chat = chatOf(open);
    await chat.sendMessage({ text: "go" });
    await chat.regenerate({ messageId: "reply-1" });
    expect(chat.messages.map(textOf)).toEqual(["go", "second"]);
    const behind = { id: "c", messages: [chat.messages[0]], trigger: "regenerate-message" };
    const repeated = await open.ask("/api/chat", { body: { ...behind, messageId: "reply-1" } });
    expect(await repeated.text()).toContain('"messageId":"reply-2"');
    const keyed = { body: behind, headers: { "idempotency-key": "k1" } };
    const [once, again] = [await open.ask("/api/chat", keyed), await open.ask("/api/chat", keyed)];
    expect(await once.text()).toContain('"messageId":"reply-3"');
    expect(await again.text()).toContain('"messageId":"reply-3"');
    expect(errors).toEqual([]);
  });

  it("approves and denies calls, and the message continues where it stopped", async () => {
    errors = [];
    const model = scriptedModel([calling(call("pay", "1"), call("pay", "2")), "Done."]);
    const pay = tool({ inputSchema: z.object({}), execute: () => "paid" });
    await using open = await serving(
      { model, tools: { pay }, toolApproval: { pay: "user-approval" } },
      { authorize: () => ({ actor: "ann" }) },
    );
    const chat = chatOf(open, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await chat.sendMessage({ text: "pay" });
    const ids = z
      .array(z.object({ approval: z.object({ id: z.string() }) }))
      .parse(chat.messages[1]?.parts.filter(({ type }) => type === "tool-pay"))
      .map(({ approval }) => approval.id);
    await chat.addToolApprovalResponse({ id: ids[0] ?? "", approved: true });
    await chat.addToolApprovalResponse({ id: ids[1] ?? "", approved: false, reason: "no" });
    await eventually(() => {
      expect(errors).toEqual([]);
      expect(chat.messages.map(textOf).at(-1)).toBe("Done.");
      expect(chat.status).toBe("ready");
    });
    expect(errors).toEqual([]);
    expect(shown((await page(open)).messages)).toEqual(shown(chat.messages));
    const { approvals } = await (await open.runtime.session("c")).view();
    expect(approvals).toMatchObject([
      { status: "approved", answer: { by: "ann" } },
      { status: "denied", answer: { by: "ann", reason: "no" } },
    ]);
  });

  it("answers the tools that the page runs", async () => {
    errors = [];
    const model = scriptedModel([calling(call("locate", "1")), "In Ulm."]);
    const locate = tool({ inputSchema: z.object({}), outputSchema: z.string() });
    await using open = await serving({ model, tools: { locate } });
    const chat = chatOf(open, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    });
    await chat.sendMessage({ text: "where?" });
    await chat.addToolOutput({ tool: "locate", toolCallId: "1", output: "Ulm" });
    await eventually(() => {
      expect(chat.messages.map(textOf).at(-1)).toBe("In Ulm.");
      expect(chat.status).toBe("ready");
    });
    expect(errors).toEqual([]);
    expect(shown((await page(open)).messages)).toEqual(shown(chat.messages));
    // The same answer again streams the same end; another answer is refused.
    const posted = structuredClone(chat.messages.slice(0, 2));
    const again = await open.ask("/api/chat", { body: { id: "c", messages: posted } });
    expect(await again.text()).toContain("In Ulm.");
    Object.assign(posted[1]?.parts.find(({ type }) => type === "tool-locate") ?? {}, {
      output: "Bonn",
    });
    const other = await open.ask("/api/chat", { body: { id: "c", messages: posted } });
    expect([other.status, await other.json()]).toMatchObject([409, { code: "CALL_ANSWERED" }]);
  });

  it("answers two calls of one id, which the page shows apart", async () => {
    errors = [];
    const who = ["ann", "bob"];
    const model = scriptedModel([
      calling(...who.map((name) => call("locate", "call_0", { name }))),
      "Both found.",
    ]);
    const inputSchema = z.object({ name: z.string() });
    const locate = tool({ inputSchema, outputSchema: z.string() });
    await using open = await serving({ model, tools: { locate } });
    const chat = chatOf(open, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    });
    await chat.sendMessage({ text: "where?" });
    const parts = z
      .array(z.object({ toolCallId: z.string(), input: inputSchema }))
      .parse(chat.messages[1]?.parts.filter(({ type }) => type === "tool-locate"));
    expect(parts.map(({ input }) => input.name)).toEqual(who);
    for (const { toolCallId, input } of parts.toReversed())
      await chat.addToolOutput({ tool: "locate", toolCallId, output: `${input.name} is here` });
    await eventually(() => {
      expect(chat.messages.map(textOf).at(-1)).toBe("Both found.");
      expect(chat.status).toBe("ready");
    });
    expect(errors).toEqual([]);
    expect(shown((await page(open)).messages)).toEqual(shown(chat.messages));
    const told = JSON.stringify(model.calls[1]?.prompt);
    expect(told).toMatch(/ann is here.*bob is here/);
  });

  it("resumes a reply that streams, and the turn survives the page", async () => {
    errors = [];
    const { step, release } = held("Hel", "lo.");
    await using open = await serving({ model: scriptedModel([step]) });
    const leaving = new AbortController();
    const first = await open.ask("/api/chat", {
      body: { id: "c", messages: [user("m1", "Hi")] },
      signal: leaving.signal,
    });
    await eventsUntil(readEvents(first), ({ data }) => data.includes("Hel"));
    leaving.abort();
    const loaded = await page(open);
    expect(loaded.messages.map(textOf)).toEqual(["Hi", "Hel"]);
    const chat = chatOf(open, { messages: loaded.messages });
    const resumed = chat.resumeStream();
    await eventually(() => expect(chat.status).toBe("streaming"));
    release();
    await resumed;
    expect(errors).toEqual([]);
    expect(chat.messages.map(textOf)).toEqual(["Hi", "Hello."]);
    // A chat at rest is answered too: a tab that slept may have half of it.
    await chat.resumeStream();
    expect(shown(chat.messages)).toEqual(shown((await page(open)).messages));
  });

  it("continues behind the position of the last chunk, on a new connection", async () => {
    await using open = await serving(texts("Hello there."));
    const session = await open.runtime.session("c");
    await (
      await session.send("1")
    ).result;
    const whole = await Array.fromAsync(readEvents(await open.ask("/api/chat/c/stream?turn=1")));
    expect(whole.at(-1)).toEqual({ data: "[DONE]" });
    const ends = whole.flatMap(({ id }, index) => (id === undefined ? [] : [{ id, index }]));
    expect(ends.length).toBeGreaterThan(3);
    for (const { id, index } of ends) {
      const rest = await open.ask(`/api/chat/c/stream?turn=1&after=${id}`);
      const [start, ...later] = await Array.fromAsync(readEvents(rest));
      expect(start).toEqual(whole[0]);
      expect(later).toEqual(whole.slice(Math.max(1, index + 1)));
    }
  });

  it("finds nothing to resume in a chat without a reply", async () => {
    await using open = await serving(texts());
    expect((await open.ask("/api/chat/c/stream")).status).toBe(204);
    expect(await open.runtime.log.revision("c")).toBe(0);
    await open.runtime.session("c");
    expect((await open.ask("/api/chat/c/stream")).status).toBe(204);
  });

  it("stops a reply and says what is kept", async () => {
    const { step, release } = held("Hel", "lo.");
    await using open = await serving({ model: scriptedModel([step]) });
    const first = await open.ask("/api/chat", {
      body: { id: "c", messages: [user("m1", "Hi")] },
    });
    const events = readEvents(first);
    for (let said = ""; !said.includes("Hel");) {
      const next = await events.next();
      said += next.done === true ? "Hel" : next.value.data;
    }
    const stopped = await open.json("/api/chat/c/stop", { method: "POST" });
    expect(stopped).toMatchObject({ was: "streaming", ended: "cancelled", kept: { text: "Hel" } });
    const rest = await Array.fromAsync(events);
    expect(rest.slice(-3).map(({ data }) => data.slice(0, 16))).toEqual([
      '{"type":"abort",',
      '{"type":"finish"',
      "[DONE]",
    ]);
    release();
  });

  it("follows later turns, for a tab that waits", async () => {
    await using open = await serving(texts("One.", "Two."));
    const session = await open.runtime.session("c");
    await (
      await session.send("1")
    ).result;
    const answer = await open.ask("/api/chat/c/stream?follow=true");
    const both = eventsUntil(readEvents(answer), ({ data }) => data.includes("Two."));
    await (
      await session.send("2")
    ).result;
    const starts = (await both).filter(({ data }) => data.startsWith('{"type":"start"'));
    expect(
      starts.map(({ data }) => z.object({ messageId: z.string() }).parse(JSON.parse(data))),
    ).toEqual([{ messageId: "reply-1" }, { messageId: "reply-2" }]);
  });
});

describe("a posted chat", () => {
  const post = async (open: Serving, body: object): Promise<readonly [number, unknown]> => {
    const answer = await open.ask("/api/chat", { body: { id: "c", ...body } });
    const isProblem = answer.headers.get("content-type") === "application/problem+json";
    return [answer.status, isProblem ? await answer.json() : await answer.text()];
  };

  it("is sent once, however often it is posted", async () => {
    await using open = await serving(texts("Hello."));
    const body = { messages: [user("m1", "Hi")] };
    const [first, again] = [await post(open, body), await post(open, body)];
    expect(first).toEqual(again);
    expect(first[1]).toContain("Hello.");
    const [status, conflict] = await post(open, { messages: [user("m1", "Other")] });
    expect([status, conflict]).toMatchObject([409, { code: "MESSAGE_CONFLICT" }]);
  });

  it("is not trusted about the past, and refused if its page is behind", async () => {
    const model = scriptedModel(["A.", "B.", "C."]);
    await using open = await serving({ model });
    await post(open, { messages: [user("m1", "one")] });
    const forged = [user("m1", "forged"), { ...user("reply-1", "forged"), role: "assistant" }];
    expect((await post(open, { messages: [...forged, user("m2", "two")] }))[0]).toBe(200);
    expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain("forged");
    await (await open.runtime.session("c")).rewind({ beforeTurn: 2 });
    const behind = [user("m1", "one"), user("m2", "two"), user("m3", "three")];
    expect(await post(open, { messages: behind })).toMatchObject([
      409,
      { code: "STALE", details: { head: { turn: 1, messageId: "m1" } } },
    ]);
    expect(await post(open, { messages: [user("m1", "one"), user("m2", "two")] })).toMatchObject([
      409,
      { code: "STALE" },
    ]);
    const based = { messages: [user("m1", "one"), user("m4", "x")], basedOn: { turn: 7 } };
    expect(await post(open, based)).toMatchObject([409, { code: "STALE" }]);
  });

  it("to a session that was deleted learns that, unless its client may not know of it", async () => {
    for (const where of [undefined, { user: "ann" }]) {
      await using open = await serving(texts("A."), {
        token: false,
        authorize: () => ({ audience: "operator", ...(where && { where }) }),
      });
      await post(open, { messages: [user("m1", "one")] });
      await open.runtime.delete("c");
      const later = { messages: [user("m1", "one"), user("m2", "two")] };
      const code = where === undefined ? "SESSION_DELETED" : "STALE";
      expect(await post(open, later)).toMatchObject([where === undefined ? 410 : 409, { code }]);
    }
  });

  it("of the system is refused in a sentence of its own, first or later", async () => {
    await using open = await serving(texts("A."));
    const system = { ...user("m0", "Be brief."), role: "system" };
    const isRefused = async (body: object): Promise<void> =>
      expect(await post(open, body)).toMatchObject([
        400,
        {
          code: "INVALID_INPUT",
          detail: expect.stringContaining("gives no instructions") as string,
        },
      ]);
    await isRefused({ messages: [system] });
    expect(await open.runtime.log.revision("c")).toBe(0);
    await post(open, { messages: [system, user("m1", "one")] });
    await isRefused({ messages: [user("m1", "one"), system] });
  });

  const reply = (id: string) => ({ id, role: "assistant", parts: [] });
  const one = [user("m1", "one"), reply("reply-1")];
  const both = [...one, user("m2", "two"), reply("reply-2")];

  it.each([
    ["sends", { messages: [...one, user("m3", "x")] }],
    ["sends and says what it shows", { messages: [user("m3", "x")], basedOn: { turn: 1 } }],
    ["regenerates", { messages: one.slice(0, 1), trigger: "regenerate-message" }],
    ["edits", { messages: [user("m1", "x")], messageId: "m1" }],
    ["edits under another id", { messages: [user("m3", "x")], messageId: "m1" }],
    [
      "edits and says what it shows",
      { messages: [user("m1", "x")], messageId: "m1", basedOn: { turn: 1, messageId: "m1" } },
    ],
  ])("of a page that is behind is refused, and records nothing: it %s", async (_, body) => {
    await using open = await serving(texts("A.", "B."));
    await post(open, { messages: [user("m1", "one")] });
    await post(open, { messages: [...one, user("m2", "two")] });
    const position = await open.runtime.log.revision("c");
    expect(await post(open, body)).toMatchObject([
      409,
      { code: "STALE", details: { head: { turn: 2, messageId: "m2" } } },
    ]);
    expect(await open.runtime.log.revision("c")).toBe(position);
  });

  it.each([
    [
      "the reply to the newest message",
      { messages: [...both.slice(0, 2), both[3], user("m3", "x")] },
    ],
    ["the newest message alone", { messages: [...both.slice(0, 3), user("m3", "x")] }],
    ["what it does not say", { messages: [user("m3", "x")] }],
    ["the newest turn", { messages: [user("m1", "x")], messageId: "m1", basedOn: { turn: 2 } }],
    [
      "the newest message, whose turn it has not seen yet",
      {
        messages: [user("m1", "x")],
        messageId: "m1",
        basedOn: { turn: 1, messageId: "m2" },
      },
    ],
  ])("is taken from a page that shows %s", async (_, body) => {
    await using open = await serving(texts("A.", "B.", "C."));
    await post(open, { messages: [user("m1", "one")] });
    await post(open, { messages: [...one, user("m2", "two")] });
    const [status, text] = await post(open, body);
    expect([status, text]).toMatchObject([200, expect.stringContaining("C.")]);
    // Repeated without an answer, it does nothing twice.
    const position = await open.runtime.log.revision("c");
    expect(await post(open, body)).toEqual([status, text]);
    expect(await open.runtime.log.revision("c")).toBe(position);
  });

  it("regenerates for a page that shows the newest turn, once for each key", async () => {
    await using open = await serving(texts("A.", "B.", "C."));
    await post(open, { messages: [user("m1", "one")] });
    await post(open, { messages: [...one, user("m2", "two")] });
    const body = {
      id: "c",
      messages: one.slice(0, 1),
      trigger: "regenerate-message",
      basedOn: { turn: 2, messageId: "m2" },
    };
    for (const [key, status] of [
      ["k1", 200],
      ["k1", 200],
      ["k2", 409],
    ] as const) {
      const answer = await open.ask("/api/chat", { body, headers: { "idempotency-key": key } });
      expect([answer.status, await answer.text()]).toEqual([
        status,
        expect.stringContaining(status === 200 ? "C." : "STALE"),
      ]);
    }
  });

  it("that two tabs edit at once is edited by one of them, whose reply is whole", async () => {
    await using open = await serving(texts("A.", "B."));
    await post(open, { messages: [user("m1", "one")] });
    const server = createServer(open.runtime, { token: false });
    const edit = async (text: string): Promise<string> => {
      const body = { id: "c", messages: [user("m1", text)], messageId: "m1", basedOn: { turn: 1 } };
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return await (await server.fetch(new Request("http://localhost/api/chat", init))).text();
    };
    const [first, second] = await Promise.all([edit("x"), edit("y")]);
    expect(first).toContain("B.");
    expect(second).toContain('"STALE"');
  });

  it("may name another message that it replaces", async () => {
    await using open = await serving(texts("A.", "B."));
    await post(open, { messages: [user("m1", "one")] });
    const edit = { messages: [user("m2", "two")], messageId: "m1" };
    const [first, again] = [await post(open, edit), await post(open, edit)];
    expect(first[1]).toContain("B.");
    expect(again).toEqual(first);
    expect((await page(open)).messages.map(textOf)).toEqual(["two", "B."]);
  });

  it("brings the answers that its page has put into the reply before, an error by its words", async () => {
    const model = scriptedModel([calling(call("locate", "1")), "Nowhere.", "Fine."]);
    const locate = tool({ inputSchema: z.object({}), outputSchema: z.string() });
    await using open = await serving({ model, tools: { locate } });
    await post(open, { messages: [user("m1", "where?")] });
    const part = { type: "tool-locate", toolCallId: "1", state: "output-error" };
    const parts = [{ ...part, input: {}, errorText: "No signal." }];
    const reply = { id: "reply-1", role: "assistant", parts };
    const messages = [user("m1", "where?"), reply, user("m2", "And now?")];
    expect((await post(open, { messages }))[1]).toContain("Fine.");
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("No signal.");
  });

  it("keeps its metadata and data parts, which no model gets, and may come alone", async () => {
    const model = scriptedModel(["A.", "B."]);
    await using open = await serving({ model });
    const text = (words: string) => ({ type: "text", text: words });
    const parts = [text("one"), { type: "data-quote", id: "q", data: { page: 7 } }, text("two")];
    const message = { id: "m1", role: "user", parts, metadata: { replyTo: 3, turn: 99 } };
    expect((await post(open, { message }))[0]).toBe(200);
    expect((await post(open, { message: user("m2", "three") }))[0]).toBe(200);
    const { messages } = await page(open);
    expect(messages[0]).toMatchObject({ parts, metadata: { replyTo: 3, turn: 1 } });
    expect(messages.map(textOf)).toEqual([expect.anything(), "A.", "three", "B."]);
    expect(JSON.stringify(model.calls)).not.toMatch(/quote|replyTo/);
    const queued = await Array.fromAsync(open.runtime.log.read("c"));
    expect(queued.filter(({ data }) => "about" in data)).toHaveLength(1);
  });

  it("asks the server's `request` about other fields, and its turn gets what that says", async () => {
    const seen: unknown[] = [];
    const contextSchema = z.object({ tenant: z.string(), by: z.string() });
    const look = tool({
      inputSchema: z.object({}),
      contextSchema,
      execute: (_, { context }) => void seen.push(context),
    });
    const prepareCall: NonNullable<Agent["prepareCall"]> = ({ options, ...settings }) => {
      seen.push(options);
      return settings;
    };
    const model = scriptedModel([calling(call("look", "1")), "Done."]);
    await using open = await serving(
      { model, tools: { look }, prepareCall, callOptionsSchema: z.object({ style: z.string() }) },
      {
        authorize: () => ({ actor: "ann" }),
        request: ({ style, tenant }, { actor = "" }) => ({
          options: { style: String(style) },
          context: { tenant: String(tenant), by: actor },
          agent: undefined,
        }),
      },
    );
    const body = { message: user("m1", "go"), style: "brief", tenant: "acme" };
    expect((await post(open, body))[0]).toBe(200);
    expect(seen).toContainEqual({ style: "brief" });
    expect(seen).toContainEqual({ tenant: "acme", by: "ann" });
  });

  it("is refused where `request` returns what nothing reads", async () => {
    const request = (): object => ({ option: {} });
    await using open = await serving(texts("x"), { request, onError: () => {} });
    expect(await post(open, { message: user("m1", "go") })).toMatchObject([
      500,
      { code: "CALLBACK_FAILED", detail: expect.stringContaining('"option"') as unknown },
    ]);
  });

  it.each([
    ["both forms", { message: user("m1", "x"), messages: [user("m1", "x")] }, "either"],
    ["neither form", {}, "either"],
    ["fields that nothing reads", { message: user("m1", "x"), model: "gpt" }, "`request`"],
    ["metadata that are a text", { message: { ...user("m1", "x"), metadata: "x" } }, "metadata"],
  ])("is refused with a sentence: %s", async (_, body, words) => {
    await using open = await serving(texts("x"));
    expect(await post(open, body)).toMatchObject([
      400,
      { code: "INVALID_INPUT", detail: expect.stringContaining(words) as unknown },
    ]);
  });

  it("that never arrived is sent by a retry", async () => {
    await using open = await serving(texts("A.", "B."));
    await post(open, { messages: [user("m1", "one")] });
    const messages = [user("m1", "one"), user("m2", "two")];
    const [status, text] = await post(open, { messages, trigger: "regenerate-message" });
    expect(status).toBe(200);
    expect(text).toContain("B.");
  });

  it("waits behind a running turn and gets the stream of its own", async () => {
    const { step, release } = held("One", ".");
    const model = scriptedModel((_, index) => (index === 0 ? step : "Two."));
    await using open = await serving({ model });
    const first = post(open, { messages: [user("m1", "1")] });
    await eventually(async () => expect((await page(open)).messages).toHaveLength(2));
    const messages = [user("m1", "1"), user("m2", "2")];
    const second = post(open, { messages });
    await eventually(async () => expect((await page(open)).queue).toHaveLength(1));
    release();
    expect((await first)[1]).toContain('"messageId":"reply-1"');
    const [, text] = await second;
    expect(text).toContain('"messageId":"reply-2"');
    expect(text).not.toContain('"messageId":"reply-1"');
    // Its reply is run again alone: the page and the prompt keep the turn before it.
    expect((await post(open, { messages, trigger: "regenerate-message" }))[0]).toBe(200);
    expect((await page(open)).messages.map(({ id }) => id)).toEqual([
      "m1",
      "reply-1",
      "m2",
      "reply-3",
    ]);
    expect(model.calls.at(-1)?.prompt.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });

  it.each([
    ["no message", { messages: [] }],
    ["an empty message", { messages: [user("m1", "")] }],
    [
      "a part that no model gets",
      { messages: [{ id: "m", role: "user", parts: [{ type: "data-x" }] }] },
    ],
    ["a file of this machine", { messages: [file("file:///etc/passwd")] }],
    ["a path", { messages: [file("/etc/passwd")] }],
    ["an unknown field", { messages: [user("m1", "x")], modle: "gpt" }],
  ])("is refused with 400: %s", async (_, body) => {
    await using open = await serving(texts("x"));
    expect(await post(open, body)).toMatchObject([400, { code: "INVALID_INPUT" }]);
    expect(await open.runtime.log.revision("c")).toBeLessThanOrEqual(1);
  });

  it("is shown a page at a time, from the end", async () => {
    await using open = await serving(texts("A", "B", "C"));
    const session = await open.runtime.session("c");
    for (const id of ["m1", "m2", "m3"]) await (await session.send(id, { id })).result;
    const newest = await page(open, "?limit=2");
    expect([newest.messages.map(textOf), newest.more]).toEqual([["m3", "C"], true]);
    const before = await page(open, "?limit=4&before=m3");
    expect([before.messages.map(textOf), before.more]).toEqual([["m1", "A", "m2", "B"], false]);
    expect((await open.ask("/api/chat/c/messages?before=none")).status).toBe(400);
  });

  it("shows nothing any more of what was redacted after the page was shown, in a fork neither", async () => {
    await using log = encryptedLog(await openMemoryLog(), memoryKeys());
    await using runtime = await createRuntime({ log, agent: texts("Secret.") });
    const { fetch } = createServer(runtime, { token: false });
    const session = await runtime.session("c");
    await (
      await session.send("Hi", { id: "m1" })
    ).result;
    await session.fork({ id: "fork" });
    const pageOf = async (id: string): Promise<string> =>
      await (await fetch(new Request(`http://localhost/api/chat/${id}/messages`))).text();
    const pages = (): Promise<readonly string[]> => Promise.all(["c", "fork"].map(pageOf));
    for (const shown of await pages()) expect(shown).toContain("Secret.");
    const events = await Array.fromAsync(log.read("c"));
    const said = events.find(({ type }) => type === "part.text-delta");
    await session.redact(said?.position ?? 0);
    for (const shown of await pages()) expect(shown).not.toContain("Secret.");
  });
});

function user(id: string, text: string) {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

function file(url: string) {
  return { id: "m", role: "user", parts: [{ type: "file", mediaType: "text/plain", url }] };
}

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** A reply that waits between two texts. */
function held(
  before: string,
  after: string,
): { readonly step: ScriptedStep; readonly release: () => void } {
  const waiting = gate();
  return { step: saying(before, waiting, after), release: waiting.open };
}
