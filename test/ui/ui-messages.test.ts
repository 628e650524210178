/** What a page shows of a session: whose messages, in which order, with which ids. */

import { describe, expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { createRuntime, type Runtime, type Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { fromUIMessage, readUIMessages, uiMessageChunks, uiMessages } from "../../src/public/ui.ts";
import { readUIMessageStream, tool } from "ai";
import { z } from "zod";
import { messageVersions, type UIMessagesState } from "../../src/ui/index.ts";

async function messagesOf(
  runtime: Runtime,
  session: string,
): Promise<ReturnType<typeof readUIMessages>> {
  const { initial, fold } = uiMessages({ session });
  let state = initial;
  for await (const event of runtime.log.read(session)) state = fold(state, event);
  return readUIMessages(state);
}

const pay = tool({
  inputSchema: z.object({ amount: z.number() }),
  execute: ({ amount }) => `paid ${amount}`,
});

function agentOf(steps: Parameters<typeof scriptedModel>[0]): Agent {
  return { model: scriptedModel(steps), tools: { pay }, toolApproval: () => "user-approval" };
}

it("a message of a long chat is added without a copy of those before", () => {
  const { initial, fold } = uiMessages({ session: "s" });
  const turn = (state: UIMessagesState, number: number): UIMessagesState =>
    fold(
      fold(state, { ...at(number), type: "turn.started", data: { turn: number, maxSteps: 1 } }),
      { ...at(number), type: "turn.ended", data: { turn: number, reason: "stop" } },
    );
  const at = (position: number) => ({ position, time: 0 });
  const turns = Array.from({ length: 1_000 }, (_, index) => index + 1);
  const before = turns.reduce(turn, initial);
  const after = turn(before, 1_001);
  const kept = new Set<unknown>([...before.done, ...before.heads]);
  const copied = [...after.done, ...after.heads].filter((piece) => !kept.has(piece)).flat();
  expect(copied.length).toBeLessThan(300);
  expect(readUIMessages(after).messages.length).toBe(1_001);
});

describe("the messages of a session", () => {
  it("are the user's under their own ids, and one reply a turn, each after the one before", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: agentOf(["Hello.", "Again."]),
    });
    const session = await runtime.session("s");
    await (
      await session.send("Hi", { id: "a" })
    ).result;
    await (
      await session.send("And?", { id: "b" })
    ).result;
    const { headId, messages } = await messagesOf(runtime, "s");
    expect(messages.map(({ message, parentId }) => [message.id, message.role, parentId])).toEqual([
      ["a", "user", undefined],
      ["reply-1", "assistant", "a"],
      ["b", "user", "reply-1"],
      ["reply-2", "assistant", "b"],
    ]);
    expect(headId).toBe("reply-2");
    const reply = messages[1]?.message;
    expect(reply?.metadata).toMatchObject({ turn: 1, reason: "stop" });
    expect(reply?.parts.filter(({ type }) => type === "text")).toEqual([
      { type: "text", text: "Hello.", state: "done" },
    ]);
  });

  it("name an approval as `approve` takes it, and keep its answer", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: agentOf([
        { parts: [{ type: "tool-call", toolCallId: "c", toolName: "pay", input: { amount: 3 } }] },
        "Done.",
      ]),
    });
    const session = await runtime.session("s");
    const turn = await session.send("Pay", { id: "a" });
    await turn.untilRest();
    const asked = (await messagesOf(runtime, "s")).messages[1]?.message.parts.at(-1);
    expect(asked).toMatchObject({ type: "tool-pay", state: "approval-requested" });
    const { approvals } = await session.view();
    const approvalId = approvals[0]?.approvalId ?? "";
    expect(asked).toMatchObject({ approval: { id: approvalId } });
    await session.approve(approvalId, { reason: "fine" });
    await turn.result;
    const parts = (await messagesOf(runtime, "s")).messages[1]?.message.parts;
    expect(parts?.find(({ type }) => type === "tool-pay")).toMatchObject({
      state: "output-available",
      output: "paid 3",
      approval: { id: approvalId, approved: true, reason: "fine" },
    });
  });

  it("name the client that ran a tool in the metadata of its result", async () => {
    const call = { type: "tool-call", toolName: "locate", input: {} } as const;
    const calls = [call, call].map((one, index) => ({ ...one, toolCallId: `c${index}` }));
    const model = scriptedModel([{ parts: calls }, "Done."]);
    const tools = { locate: tool({ inputSchema: z.object({}), outputSchema: z.string() }) };
    await using runtime = await createRuntime({ memory: true, agent: { model, tools } });
    const session = await runtime.session("s");
    const turn = await session.send("Where am I?");
    await turn.untilRest();
    await session.answerCall("c0", { output: "Ulm", by: "ann" });
    await session.answerCall("c1", { error: "Lost.", by: "bob" });
    await turn.result;
    const { messages } = await messagesOf(runtime, "s");
    const parts = messages[1]?.message.parts.filter(({ type }) => type === "tool-locate");
    expect(parts).toMatchObject([
      { output: "Ulm", resultProviderMetadata: { turnlog: { by: "ann" } } },
      { errorText: "Lost.", resultProviderMetadata: { turnlog: { by: "bob" } } },
    ]);
    const events = await Array.fromAsync(runtime.log.read("s"));
    const chunks = uiMessageChunks(events, { session: "s" });
    const streamed = await Array.fromAsync(
      readUIMessageStream({ stream: ReadableStream.from(chunks) }),
    );
    expect(streamed.at(-1)?.parts).toEqual(messages[1]?.message.parts);
  });

  it("have what is still streaming, and their chunks say the same", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: agentOf(["One two three."]),
    });
    const session = await runtime.session("s");
    await (
      await session.send("Count", { id: "a" })
    ).result;
    const events = await Array.fromAsync(runtime.log.read("s"));
    const chunks = await Array.fromAsync(uiMessageChunks(events, { session: "s" }));
    expect(chunks[0]).toMatchObject({ type: "start", messageId: "reply-1" });
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    const { initial, fold } = uiMessages({ session: "s" });
    const open = events.findIndex(({ type }) => type === "part.text-delta");
    const state = events.slice(0, open + 1).reduce(fold, initial);
    const last = readUIMessages(state).messages.at(-1)?.message.parts.at(-1);
    expect(last).toMatchObject({ type: "text", state: "streaming" });
  });
});

describe("the messages of a rewound session", () => {
  it("are a tree: a left turn stays, and what follows a rewind begins at its head", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: agentOf(["One.", "Two.", "Three."]),
    });
    const session = await runtime.session("s");
    await (
      await session.send("First", { id: "a" })
    ).result;
    await (
      await session.send("Second", { id: "b" })
    ).result;
    await session.rewind({ beforeMessage: "b" });
    expect((await messagesOf(runtime, "s")).headId).toBe("reply-1");
    await (
      await session.send("Other", { id: "c" })
    ).result;
    const { headId, messages } = await messagesOf(runtime, "s");
    expect(messages.map(({ message, parentId }) => [message.id, parentId])).toEqual([
      ["a", undefined],
      ["reply-1", "a"],
      ["b", "reply-1"],
      ["reply-2", "b"],
      ["c", "reply-1"],
      ["reply-3", "c"],
    ]);
    expect(headId).toBe("reply-3");
    const [former] = await session.branches();
    await session.checkout(former?.id ?? 0);
    expect((await messagesOf(runtime, "s")).headId).toBe("reply-2");
  });
});

it("a reply that is asked for again is another answer to the same message", async () => {
  await using runtime = await createRuntime({ memory: true, agent: agentOf(["One.", "Two."]) });
  const session = await runtime.session("s");
  await (
    await session.send("First", { id: "a" })
  ).result;
  await (
    await session.regenerate()
  ).result;
  const { headId, messages } = await messagesOf(runtime, "s");
  expect(messages.map(({ message, parentId }) => [message.id, parentId])).toEqual([
    ["a", undefined],
    ["reply-1", "a"],
    ["reply-2", "a"],
  ]);
  expect(headId).toBe("reply-2");
});

it("messages that have other versions are named oldest first, each with the branches of all", async () => {
  const texts = ["One.", "Two.", "Three.", "Four."];
  await using runtime = await createRuntime({ memory: true, agent: agentOf(texts) });
  const session = await runtime.session("s");
  const ask = async (text: string, id: string) => (await session.send(text, { id })).result;
  await ask("First", "a");
  await (
    await session.regenerate()
  ).result;
  await ask("Second", "b");
  await (
    await session.regenerate()
  ).result;
  const { initial, fold } = uiMessages({ session: "s" });
  const events = await Array.fromAsync(runtime.log.read("s"));
  const versions = messageVersions(events.reduce(fold, initial));
  expect(versions.map(({ id, index }) => [id, index])).toEqual([
    ["reply-2", 1],
    ["reply-4", 1],
  ]);
  expect(versions.map(({ branches }) => branches.length)).toEqual([2, 2]);
});

describe("fromUIMessage", () => {
  it("gives what `send` takes: a text, or texts and files", () => {
    expect(fromUIMessage({ role: "user", parts: [{ type: "text", text: "Hi" }] })).toBe("Hi");
    const url = "data:text/plain;base64,SGk=";
    const file = { type: "file", mediaType: "text/plain", filename: "a.txt", url } as const;
    expect(fromUIMessage({ role: "user", parts: [{ type: "text", text: "Hi" }, file] })).toEqual([
      { type: "text", text: "Hi" },
      { type: "file", data: url, mediaType: "text/plain", filename: "a.txt" },
    ]);
  });

  it("refuses other roles, and messages without content", () => {
    expect(() => fromUIMessage({ role: "assistant", parts: [] })).toThrow(/Only messages of users/);
    expect(() => fromUIMessage({ role: "user", parts: [] })).toThrow(/no text and no file/);
  });
});

it("a message that came on each branch is shown where the active branch has it", () => {
  const { initial, fold } = uiMessages({ session: "s" });
  const turn = (number: number, id: string): readonly EventBody[] => [
    { type: "turn.started", data: { turn: number, maxSteps: 1 } },
    { type: "message.delivered", data: { ids: [id], turn: number, boundary: "turn" } },
    { type: "turn.ended", data: { turn: number, reason: "stop" } },
  ];
  const rewound = (to: number): EventBody => ({ type: "session.rewound", data: { to } });
  const left = [...turn(1, "a"), rewound(0), ...turn(2, "b"), ...turn(3, "a")];
  const placesOf = (bodies: readonly EventBody[]): unknown => {
    const events = bodies.map((body, index) => ({ ...body, position: index + 1, time: 0 }));
    const { messages } = readUIMessages(events.reduce<UIMessagesState>(fold, initial));
    return messages.flatMap(({ message, parentId }) => (message.id === "a" ? [parentId] : []));
  };
  expect(placesOf(left)).toEqual(["reply-2"]);
  expect(placesOf([...left, rewound(3)])).toEqual([undefined]);
});
