/** The stream of replies for a page: whole messages, past and then live, until the turn is at rest. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  uiStream,
  type Agent,
  type Runtime,
  type Session,
} from "../../src/public/index.ts";
import { gate, scriptedModel, type ScriptedStep } from "../../src/public/testing.ts";
import { readUIMessages, uiMessages, type SessionChunk } from "../../src/public/ui.ts";

const pay = tool({
  inputSchema: z.object({ amount: z.number() }),
  execute: ({ amount }) => `paid ${amount}`,
});
const ask = tool({ inputSchema: z.object({}), outputSchema: z.number() });

function callPart(toolName: string, input: { readonly amount?: number }) {
  return { type: "tool-call", toolCallId: toolName, toolName, input } as const;
}
const call = (...given: Parameters<typeof callPart>): ScriptedStep => ({
  parts: [callPart(...given)],
});

function agentOf(steps: Parameters<typeof scriptedModel>[0]): Agent {
  return {
    model: scriptedModel(steps),
    tools: { pay, ask },
    toolApproval: { pay: "user-approval" },
  };
}

async function opened(steps: Parameters<typeof scriptedModel>[0]): Promise<[Runtime, Session]> {
  const runtime = await createRuntime({ memory: true, agent: agentOf(steps) });
  return [runtime, await runtime.session("s")];
}

const idsOf = (chunks: readonly SessionChunk[]): readonly (string | undefined)[] =>
  chunks.flatMap((chunk) => (chunk.type === "start" ? [chunk.messageId] : []));
const textOf = (chunks: readonly SessionChunk[]): string =>
  chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
const lastOf = (chunks: readonly SessionChunk[]): string | undefined => chunks.at(-1)?.type;
const read = (
  session: Session,
  options?: Parameters<typeof uiStream>[1],
): Promise<SessionChunk[]> => Array.fromAsync(uiStream(session, options));

describe("a stream of a reply", () => {
  it("is the same while the turn runs and after it, from its start to its end", async () => {
    const paused = gate();
    const step = { parts: [{ type: "text", deltas: ["One ", "two ", paused, "three."] }] } as const;
    const [runtime, session] = await opened([step]);
    await using _ = runtime;
    await session.send("Count", { id: "a" });
    const live = uiStream(session, { messageId: "a" }).getReader();
    const first = await live.read();
    expect(first.value).toMatchObject({ type: "start", messageId: "reply-1" });
    paused.open();
    const chunks = first.value === undefined ? [] : [first.value];
    for (let next = await live.read(); !next.done; next = await live.read())
      chunks.push(next.value);
    expect(textOf(chunks)).toBe("One two three.");
    expect(lastOf(chunks)).toBe("finish");
    for (const place of [{}, { turn: 1 }, { from: 1 }, { messageId: "a" }])
      expect(await read(session, place)).toEqual(chunks);
  });

  it("ends while an approval or an output waits, and begins anew with the answer", async () => {
    const [runtime, session] = await opened([call("pay", { amount: 3 }), call("ask", {}), "Done."]);
    await using _ = runtime;
    await session.send("Pay", { id: "a" });
    const asked = await read(session, { messageId: "a" });
    expect(lastOf(asked)).toBe("tool-approval-request");
    const [approval] = (await session.view()).approvals;
    await session.approve(approval?.approvalId ?? "");
    const waiting = await read(session, { turn: 1 });
    expect(waiting.slice(0, asked.length)).toEqual(asked);
    expect(waiting).toContainEqual(expect.objectContaining({ toolName: "ask" }));
    expect(lastOf(waiting)).not.toBe("finish");
    await session.answerCall("ask", { output: 5 });
    expect(lastOf(await read(session))).toBe("finish");
  });

  it("goes on after a position, for a reader that has the message up to there", async () => {
    const [runtime, session] = await opened([call("pay", { amount: 3 }), "Done."]);
    await using _ = runtime;
    await session.send("Pay", { id: "a" });
    const asked = await read(session);
    const [approval] = (await session.view()).approvals;
    const { position: after } = await session.view();
    await session.approve(approval?.approvalId ?? "");
    const rest = await read(session, { turn: 1, after });
    expect(rest.map(({ type }) => type).slice(0, 2)).toEqual(["start", "tool-approval-response"]);
    expect([...asked, ...rest.slice(1)]).toEqual(await read(session));
    expect(await read(session, { turn: 1, after: (await session.view()).position })).toEqual(
      asked.slice(0, 1),
    );
  });

  it("of a message that waits is the one of the turn that takes it up", async () => {
    const paused = gate();
    const step = { parts: [{ type: "text", deltas: ["One.", paused] }] } as const;
    const [runtime, session] = await opened([step, "Two."]);
    await using _ = runtime;
    await session.send("First", { id: "a" });
    await session.send("Second", { id: "b" });
    const reading = read(session, { messageId: "b" });
    paused.open();
    const chunks = await reading;
    expect(idsOf(chunks)).toEqual(["reply-2"]);
    expect(textOf(chunks)).toBe("Two.");
  });

  it("of a steered message is the whole reply, with the message in it", async () => {
    const paused = gate();
    const [runtime, session] = await opened([
      { parts: [{ type: "text", deltas: ["Working.", paused] }, callPart("ask", {})] },
      "Both.",
    ]);
    await using _ = runtime;
    await session.send("First", { id: "a" });
    await session.send("Aside", { id: "b" });
    await session.reschedule("b", "steer");
    const reading = read(session, { messageId: "b" });
    paused.open();
    await session.atRest();
    await session.answerCall("ask", { output: 1 });
    await (
      await session.turn("a")
    ).result;
    const chunks = await read(session, { messageId: "b" });
    expect(idsOf(chunks)).toEqual(["reply-1"]);
    const steered = { type: "steering-message", id: "b", parts: [{ type: "text", text: "Aside" }] };
    expect(chunks).toContainEqual(steered);
    // The first stream ended where the output waited.
    expect(chunks.slice(0, (await reading).length)).toEqual(await reading);
  });

  it("of a message that waits goes on when another one is withdrawn", async () => {
    const paused = gate();
    const step = { parts: [{ type: "text", deltas: ["One", paused] }] } as const;
    const [runtime, session] = await opened([step, "Two."]);
    await using _ = runtime;
    for (const id of ["a", "b", "c"]) await session.send(id, { id });
    const reading = read(session, { messageId: "b" });
    await session.withdraw("c");
    paused.open();
    expect(textOf(await reading)).toBe("Two.");
  });

  it("of a message that is held back ends without a chunk", async () => {
    const [runtime, session] = await opened([call("pay", { amount: 1 }), "Paid.", "Next."]);
    await using _ = runtime;
    await session.send("Pay", { id: "a" });
    await session.atRest();
    await session.send("Next", { id: "b" });
    expect(await read(session, { messageId: "b" })).toEqual([]);
  });

  it("goes on over later turns with `untilRest: false`, and joins at a position", async () => {
    const [runtime, session] = await opened(["One.", "Two.", "Three."]);
    await using _ = runtime;
    await (
      await session.send("First", { id: "a" })
    ).result;
    const { position } = await session.view();
    const stream = uiStream(session, { from: position + 1, untilRest: false });
    for (const id of ["b", "c"]) await (await session.send(id, { id })).result;
    const chunks: SessionChunk[] = [];
    for await (const chunk of stream) {
      chunks.push(chunk);
      if (textOf(chunks) === "Two.Three." && chunk.type === "finish") break;
    }
    expect(idsOf(chunks)).toEqual(["reply-2", "reply-3"]);
  });

  it("of a turn that a rewind left is found, and the default is the active branch's", async () => {
    const [runtime, session] = await opened(["One.", "Two.", "Three."]);
    await using _ = runtime;
    await (
      await session.send("First", { id: "a" })
    ).result;
    await (
      await session.send("Second", { id: "b" })
    ).result;
    await session.rewind({ beforeMessage: "b" });
    expect(textOf(await read(session))).toBe("One.");
    expect(textOf(await read(session, { turn: 2 }))).toBe("Two.");
    expect(textOf(await read(session, { messageId: "b" }))).toBe("Two.");
    await (
      await session.regenerate()
    ).result;
    expect(textOf(await read(session))).toBe("Three.");
    expect(textOf(await read(session, { turn: 1 }))).toBe("One.");
    expect(textOf(await read(session, { messageId: "a" }))).toBe("Three.");
  });
});

describe("a stream that cannot be", () => {
  it("of a session without a turn ends without a chunk", async () => {
    const [runtime, session] = await opened([]);
    await using _ = runtime;
    expect(await read(session)).toEqual([]);
  });

  it("is refused: two places, no such turn, message or position, a withdrawn message", async () => {
    const [runtime, session] = await opened([call("pay", { amount: 1 })]);
    await using _ = runtime;
    // @ts-expect-error -- two places
    expect(() => uiStream(session, { turn: 1, from: 1 })).toThrow(/at most one/);
    for (const place of [{ turn: 1 }, { from: 9 }, { messageId: "x" }])
      await expect(read(session, place)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await session.send("Pay", { id: "a" });
    await session.atRest();
    await session.send("Next", { id: "b" });
    const reading = read(session, { messageId: "b", untilRest: false });
    reading.catch(() => {});
    const reader = uiStream(session, { turn: 1 }).getReader();
    await reader.read();
    await session.withdraw("b");
    await expect(reading).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await expect(read(session, { messageId: "b" })).rejects.toMatchObject({
      code: "COMMAND_REFUSED",
    });
    await reader.cancel();
  });

  it("fails with the runtime", async () => {
    const paused = gate();
    const step = { parts: [{ type: "text", deltas: ["One.", paused] }] } as const;
    const [runtime, session] = await opened([step]);
    await session.send("Go", { id: "a" });
    const reading = read(session, { turn: 1, untilRest: false });
    reading.catch(() => {});
    const reader = uiStream(session).getReader();
    await reader.read();
    await runtime.close();
    await expect(reading).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
    await reader.cancel();
  });
});

it("a stream that is cancelled or not read leaves the turn alone", async () => {
  const [runtime, session] = await opened(["One two three four five."]);
  await using _ = runtime;
  const turn = await session.send("Go", { id: "a" });
  const unread = uiStream(session, { messageId: "a" });
  const reader = uiStream(session, { messageId: "a", untilRest: false }).getReader();
  await reader.read();
  await reader.cancel();
  expect((await turn.result).text).toBe("One two three four five.");
  expect(textOf(await Array.fromAsync(unread))).toBe("One two three four five.");
});

it("a stream that is cancelled while it waits for a chunk ends at once", async () => {
  const paused = gate();
  const step = { parts: [{ type: "text", deltas: ["One ", paused, "two."] }] } as const;
  const [runtime, session] = await opened([step]);
  await using _ = runtime;
  const turn = await session.send("Go", { id: "a" });
  const reader = uiStream(session, { messageId: "a" }).getReader();
  for (let next = await reader.read(); next.value?.type !== "text-delta";)
    next = await reader.read();
  const waiting = reader.read();
  await paused.reached;
  // By then the stream waits for the next event.
  await session.view();
  await reader.cancel();
  expect(await waiting).toEqual({ done: true, value: undefined });
  paused.open();
  expect((await turn.result).text).toBe("One two.");
});

it("a stream's last message is the one of `uiMessages`", async () => {
  const [runtime, session] = await opened([call("pay", { amount: 1 }), "Paid."]);
  await using _ = runtime;
  await session.send("Pay", { id: "a" });
  const { initial, fold } = uiMessages({ session: "s" });
  let state = initial;
  await session.atRest();
  for await (const event of runtime.log.read("s")) state = fold(state, event);
  const last = readUIMessages(state).messages.at(-1)?.message;
  const { streamedMessages } = await import("../ui/streamed-message.ts");
  const chunks = await read(session);
  const streamed = await streamedMessages(chunks, new Set([chunks.length]));
  expect(streamed.get(chunks.length)).toEqual(JSON.parse(JSON.stringify(last)));
});
