/**
 * The stream of a session's events for a reader elsewhere, in any protocol: whole turns, past and then live, until the
 * turn is at rest or beyond. The protocol of these tests sends each event as it is.
 */

import { setImmediate } from "node:timers/promises";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  openMemoryLog,
  streamEvents,
  uiStream,
  type Agent,
  type EventEncoder,
  type Runtime,
  type Session,
  type SessionEvent,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/public/testing.ts";
import { readUIMessages, uiMessages } from "../../src/public/ui.ts";
import { severableLog } from "../support/severed-log.ts";
import type { ScriptedStep } from "../../src/models/index.ts";

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

type Options = Parameters<typeof streamEvents>[1];

const plain: EventEncoder<undefined, SessionEvent> = {
  initial: () => undefined,
  encode: (state, event) => ({ state, chunks: [event] }),
  repeats: ({ type }) => type === "turn.started",
};

const turnsOf = (events: readonly SessionEvent[]): readonly number[] =>
  events.flatMap(({ type, data }) => (type === "turn.started" ? [data.turn] : []));
const textOf = (events: readonly SessionEvent[]): string =>
  events.map(({ type, data }) => (type === "part.text-delta" ? data.text : "")).join("");
const lastOf = (events: readonly SessionEvent[]): string | undefined => events.at(-1)?.type;

async function* reading(session: Session, options: Options = {}): AsyncGenerator<SessionEvent> {
  for await (const { chunks } of streamEvents(session, options, plain)) yield* chunks;
}
const read = (session: Session, options?: Options): Promise<SessionEvent[]> =>
  Array.fromAsync(reading(session, options));

describe("a stream of a reply", () => {
  it("is the same while the turn runs and after it, from its start to its end", async () => {
    const paused = gate();
    const step = { parts: [{ type: "text", deltas: ["One ", "two ", paused, "three."] }] } as const;
    const [runtime, session] = await opened([step]);
    await using _ = runtime;
    await session.send("Count", { id: "a" });
    const chunks: SessionEvent[] = [];
    for await (const event of reading(session, { messageId: "a" })) {
      if (chunks.length === 0) paused.open();
      chunks.push(event);
    }
    expect(chunks[0]).toMatchObject({ type: "turn.started", data: { turn: 1 } });
    expect(textOf(chunks)).toBe("One two three.");
    expect(lastOf(chunks)).toBe("turn.ended");
    for (const place of [{}, { turn: 1 }, { messageId: "a" }])
      expect(await read(session, place)).toEqual(chunks);
    // From a position, with what lies between turns.
    expect((await read(session, { from: 1 })).slice(2)).toEqual(chunks);
  });

  it("ends while an approval or an output waits, and begins anew with the answer", async () => {
    const [runtime, session] = await opened([call("pay", { amount: 3 }), call("ask", {}), "Done."]);
    await using _ = runtime;
    await session.send("Pay", { id: "a" });
    const asked = await read(session, { messageId: "a" });
    expect(lastOf(asked)).toBe("tool.approval-requested");
    const [approval] = (await session.view()).approvals;
    await session.approve(approval?.approvalId ?? "");
    const waiting = await read(session, { turn: 1 });
    expect(waiting.slice(0, asked.length)).toEqual(asked);
    expect(lastOf(waiting)).toBe("tool.output-requested");
    await session.answerCall("ask", { output: 5 });
    expect(lastOf(await read(session))).toBe("turn.ended");
  });

  it("continues after a position, for a reader that has the message up to there", async () => {
    const [runtime, session] = await opened([call("pay", { amount: 3 }), "Done."]);
    await using _ = runtime;
    await session.send("Pay", { id: "a" });
    const asked = await read(session);
    const [approval] = (await session.view()).approvals;
    const { position: after } = await session.view();
    await session.approve(approval?.approvalId ?? "");
    const rest = await read(session, { turn: 1, after });
    expect(rest.map(({ type }) => type).slice(0, 2)).toEqual([
      "turn.started",
      "tool.approval-answered",
    ]);
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
    const waiting = read(session, { messageId: "b" });
    paused.open();
    const chunks = await waiting;
    expect(turnsOf(chunks)).toEqual([2]);
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
    const waiting = read(session, { messageId: "b" });
    paused.open();
    await session.atRest();
    await session.answerCall("ask", { output: 1 });
    await (
      await session.turn("a")
    ).result;
    const chunks = await read(session, { messageId: "b" });
    expect(turnsOf(chunks)).toEqual([1]);
    expect(chunks.filter(({ type }) => type === "message.delivered")).toHaveLength(2);
    // The first stream ended where the output waited.
    expect(chunks.slice(0, (await waiting).length)).toEqual(await waiting);
  });

  it("of a message that waits continues when another one is withdrawn", async () => {
    const paused = gate();
    const step = { parts: [{ type: "text", deltas: ["One", paused] }] } as const;
    const [runtime, session] = await opened([step, "Two."]);
    await using _ = runtime;
    for (const id of ["a", "b", "c"]) await session.send(id, { id });
    const waiting = read(session, { messageId: "b" });
    await session.withdraw("c");
    paused.open();
    expect(textOf(await waiting)).toBe("Two.");
  });

  it("of a message that is held back ends without a chunk", async () => {
    const [runtime, session] = await opened([call("pay", { amount: 1 }), "Paid.", "Next."]);
    await using _ = runtime;
    await session.send("Pay", { id: "a" });
    await session.atRest();
    await session.send("Next", { id: "b" });
    expect(await read(session, { messageId: "b" })).toEqual([]);
  });

  it("continues over later turns with `untilRest: false`, and joins at a position", async () => {
    const [runtime, session] = await opened(["One.", "Two.", "Three."]);
    await using _ = runtime;
    await (
      await session.send("First", { id: "a" })
    ).result;
    const { position } = await session.view();
    const stream = reading(session, { from: position + 1, untilRest: false });
    for (const id of ["b", "c"]) await (await session.send(id, { id })).result;
    const chunks: SessionEvent[] = [];
    for await (const chunk of stream) {
      chunks.push(chunk);
      if (textOf(chunks) === "Two.Three." && chunk.type === "turn.ended") break;
    }
    expect(turnsOf(chunks)).toEqual([2, 3]);
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

it("of a message that waits is refused when its session is closed, in both kinds", async () => {
  const [runtime, session] = await opened(["One."]);
  await using _ = runtime;
  await session.send("Later", { id: "a", notBefore: new Date(Date.now() + 86_400_000) });
  const waiting = [true, false].map((untilRest) => read(session, { messageId: "a", untilRest }));
  for (const one of waiting) one.catch(() => {});
  await session.close();
  for (const one of waiting) await expect(one).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
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
    expect(() => streamEvents(session, { turn: 1, from: 1 }, plain)).toThrow(/at most one/);
    // @ts-expect-error -- no function
    expect(() => streamEvents(session, {}, { initial: 1 })).toThrow(/encoder\.initial/);
    for (const place of [{ turn: 1 }, { from: 9 }, { messageId: "x" }])
      await expect(read(session, place)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await session.send("Pay", { id: "a" });
    await session.atRest();
    await session.send("Next", { id: "b" });
    const waiting = read(session, { messageId: "b", untilRest: false });
    waiting.catch(() => {});
    const reader = streamEvents(session, { turn: 1 }, plain).getReader();
    await reader.read();
    await session.withdraw("b");
    await expect(waiting).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
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
    const following = read(session, { turn: 1, untilRest: false });
    following.catch(() => {});
    const reader = streamEvents(session, {}, plain).getReader();
    await reader.read();
    await runtime.close();
    await expect(following).rejects.toMatchObject({ code: "RUNTIME_CLOSED" });
    await reader.cancel();
  });
});

it("a stream that is cancelled or not read leaves the turn alone", async () => {
  const [runtime, session] = await opened(["One two three four five."]);
  await using _ = runtime;
  const turn = await session.send("Go", { id: "a" });
  const unread = streamEvents(session, { messageId: "a" }, plain);
  const reader = streamEvents(session, { messageId: "a", untilRest: false }, plain).getReader();
  await reader.read();
  await reader.cancel();
  expect((await turn.result).text).toBe("One two three four five.");
  const events = (await Array.fromAsync(unread)).flatMap(({ chunks }) => chunks);
  expect(textOf(events)).toBe("One two three four five.");
});

it("a stream that is cancelled while it waits for a chunk ends at once, and leaves nothing", async () => {
  const paused = gate();
  const step = { parts: [{ type: "text", deltas: ["One ", paused, "two."] }] } as const;
  const [runtime, session] = await opened([step]);
  await using _ = runtime;
  const turn = await session.send("Go", { id: "a" });
  await paused.reached;
  const { watched, signals } = watching(session);
  const reader = streamEvents(watched, { messageId: "a" }, plain).getReader();
  for (let next = await reader.read(); next.value?.chunks[0]?.type !== "part.text-delta";)
    next = await reader.read();
  const waiting = reader.read();
  // By then the stream waits for the next event.
  await session.view();
  await reader.cancel();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  paused.open();
  expect((await turn.result).text).toBe("One two.");
});

/** The session, and the signals that end what a stream asks of it. */
function watching(session: Session): {
  readonly watched: Session;
  readonly signals: readonly AbortSignal[];
} {
  const signals: AbortSignal[] = [];
  const watched = new Proxy(session, {
    get(target, name): unknown {
      if (name !== "events" && name !== "atRest") return Reflect.get(target, name);
      return (options: { readonly signal: AbortSignal }) => {
        signals.push(options.signal);
        return target[name](options);
      };
    },
  });
  return { watched, signals };
}

/** What a reader has when its connection is lost, and the position that it resumes with. */
async function upTo(
  session: Session,
  options: Options,
  isLast: (event: SessionEvent) => boolean,
): Promise<{ readonly events: readonly SessionEvent[]; readonly after: number }> {
  const events: SessionEvent[] = [];
  for await (const { position, chunks } of streamEvents(session, options, plain)) {
    events.push(...chunks);
    if (chunks.some(isLast)) return { events, after: position };
  }
  throw new Error("The stream ended before.");
}

describe("a reader that lost its connection has each event once", () => {
  it("in the middle of a word, when the process was killed and another one continues", async () => {
    const log = await openMemoryLog();
    const severable = severableLog(log);
    const step = { parts: [{ type: "text", deltas: ["Str", "asb", gate()] }] } as const;
    const first = await createRuntime({ log: severable, graceMs: 1, agent: agentOf([step]) });
    const before = await first.session("s");
    await before.send("Go", { id: "a" });
    const following = { from: 1, untilRest: false } as const;
    const had = await upTo(before, following, ({ type }) => type === "part.text-delta");
    severable.sever();
    void first.close();
    await using next = await createRuntime({ log, recovery: "continue", agent: agentOf(["urg."]) });
    const session = await next.session("s");
    const { after } = had;
    const rest = await upTo(
      session,
      { from: after + 1, after, untilRest: false },
      ({ type }) => type === "turn.ended",
    );
    const [started, ...later] = rest.events;
    expect(started?.type).toBe("turn.started");
    expect([...had.events, ...later]).toEqual(await Array.fromAsync(log.read("s")));
  });

  it("while it follows a session that is rewound", async () => {
    const [runtime, session] = await opened(["One.", "Two.", "Three."]);
    await using _ = runtime;
    for (const id of ["a", "b"]) await (await session.send(id, { id })).result;
    const following = { from: 1, untilRest: false } as const;
    const had = await upTo(session, following, ({ type, data }) => {
      return type === "turn.started" && data.turn === 2;
    });
    await session.rewind({ beforeMessage: "b" });
    await (
      await session.send("c", { id: "c" })
    ).result;
    const { after } = had;
    const rest = await upTo(
      session,
      { from: after + 1, after, untilRest: false },
      ({ type, data }) => type === "turn.ended" && data.turn === 3,
    );
    expect([...had.events, ...rest.events.slice(1)]).toEqual(
      await Array.fromAsync(runtime.log.read("s")),
    );
  });

  it("in a fork, of the events that it shares and of its own", async () => {
    const [runtime, session] = await opened(["One.", "Two."]);
    await using _ = runtime;
    await (
      await session.send("First", { id: "a" })
    ).result;
    const fork = await session.fork({ id: "fork" });
    await (
      await fork.send("Second", { id: "b" })
    ).result;
    expect(await read(fork, { turn: 1 })).toEqual(await read(session, { turn: 1 }));
    const { position: after } = await session.view();
    const own = await read(fork, { from: after + 1, after });
    expect(textOf(own)).toBe("Two.");
    expect([...(await read(session, { from: 1 })), ...own]).toEqual(await read(fork, { from: 1 }));
  });
});

it("a reader gets each chunk when it asks for it, and none is made before", async () => {
  const deltas = ["One ", "two ", "three ", "four."];
  const [runtime, session] = await opened([{ parts: [{ type: "text", deltas }] }]);
  await using _ = runtime;
  await (
    await session.send("Go", { id: "a" })
  ).result;
  let made = 0;
  const encoder: EventEncoder<undefined, number> = {
    initial: () => undefined,
    encode: (state, { type }) => ({ state, chunks: type === "part.text-delta" ? [++made] : [] }),
  };
  const reader = streamEvents(session, {}, encoder).getReader();
  for (let asked = 1; asked <= 3; asked++) {
    expect((await reader.read()).value?.chunks).toEqual([asked]);
    // The time in which a stream that reads ahead would.
    await setImmediate();
    expect(made).toBe(asked);
  }
  await reader.cancel();
});

it("an encoder gets the contents of the messages that wait from before", async () => {
  const [runtime, session] = await opened(["One.", "Two."]);
  await using _ = runtime;
  const words: EventEncoder<readonly string[], string> = {
    initial: (messages) => messages.map(({ id, content }) => `${id}: ${JSON.stringify(content)}`),
    encode: (state, { type }) => ({ state, chunks: type === "turn.started" ? state : [] }),
  };
  await session.send("First", { id: "a" });
  const { position } = await session.send("Second", { id: "b" }).then(() => session.view());
  await session.atRest();
  const [item] = await Array.fromAsync(streamEvents(session, { turn: 2 }, words));
  expect(item?.chunks).toEqual(['b: "Second"']);
  expect(item?.position).toBeGreaterThan(position);
});

describe("an encoder that fails ends its stream, and the session continues:", () => {
  const boom = (): never => {
    throw new Error("boom");
  };
  // Nobody awaits it.
  const later = async (): Promise<never> => await Promise.reject(new Error("boom"));
  it.each<[what: string, encoder: object, words: RegExp]>([
    ["its beginning throws", { initial: boom }, /`initial`.*threw "boom"/],
    ["it throws", { encode: boom }, /`encode`.*threw "boom".*`after: 0`/],
    ["it gives nothing", { encode: () => undefined }, /`encode`.*returned no list/],
    ["it gives no list", { encode: () => ({ state: 1, chunks: 2 }) }, /returned no list/],
    ["it is asynchronous", { encode: later }, /`encode`.*returned a promise/],
    ["its beginning is asynchronous", { initial: later }, /`initial`.*returned a promise/],
    ["it says later what it repeats", { repeats: later }, /`repeats`.*returned a promise/],
    ["it fails to say what it repeats", { repeats: boom }, /`repeats`.*threw "boom"/],
  ])("%s", async (_, broken, words) => {
    await using runtime = await createRuntime({ memory: true, agent: agentOf(["One.", "Two."]) });
    const session = await runtime.session("s");
    await (
      await session.send("First")
    ).result;
    const { watched, signals } = watching(session);
    const place = { turn: 1, after: 3, untilRest: false };
    const stream = streamEvents(watched, place, { ...plain, ...broken });
    const failure = await Array.fromAsync(stream).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "CALLBACK_FAILED", session: "s", position: 1 });
    expect(String(failure)).toMatch(words);
    for (const { aborted } of signals) expect(aborted).toBe(true);
    expect((await (await session.send("Second")).result).text).toBe("Two.");
  });
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
  const chunks = await Array.fromAsync(uiStream(session));
  const streamed = await streamedMessages(chunks, new Set([chunks.length]));
  expect(streamed.get(chunks.length)).toEqual(JSON.parse(JSON.stringify(last)));
});
