/** What a chat knows of its session: the same for who was there and for who comes later. */
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  conversationOf,
  foldConversation,
  questionsOf,
  type ConversationState,
} from "../../src/cli/chat/screen/conversation-state.ts";
import { nextCancel } from "../../src/cli/chat/acts/turn-cancel.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { newConversation } from "./new-conversation.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Session } from "../../src/runtime/index.ts";
import { allow, refuse } from "../support/answering.ts";

const call = (toolCallId: string, toolName: string) =>
  ({ type: "tool-call", toolCallId, toolName, input: { of: toolCallId } }) as const;

/** A session in which calls are asked about, run and cancelled, and messages wait, move and are taken back. */
async function rich(): Promise<{
  readonly session: Session;
  readonly events: readonly SessionEvent[];
  readonly runtime: AsyncDisposable;
}> {
  const inputSchema = z.object({ of: z.string() });
  const stop = gate();
  const failure = new TypeError("fetch failed", {
    cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
  });
  const runtime = await createRuntime({
    memory: true,
    graceMs: 0,
    testing: { random: () => 0 },
    agent: {
      model: scriptedModel([
        { parts: [call("c1", "ask"), call("c2", "ask"), call("c3", "quick")] },
        { failure },
        "then this",
        { parts: [call("c4", "hang"), call("c5", "ask")] },
        { parts: [{ type: "text", deltas: ["never ", stop, "said"] }] },
      ]),
      tools: {
        // oxlint-disable-next-line typescript/no-deprecated
        ask: tool({ inputSchema, needsApproval: true, execute: () => "asked" }),
        quick: tool({ inputSchema, execute: () => "quick" }),
        hang: tool({ inputSchema, execute: () => new Promise<string>(() => {}) }),
      },
    },
  });
  const session = await runtime.session("one");
  const reached = async (type: SessionEvent["type"], from = 1): Promise<SessionEvent> => {
    for await (const event of session.events({ from })) if (event.type === type) return event;
    throw new Error(`No ${type} came.`);
  };
  await session.send("first", { id: "m1" });
  await reached("tool.succeeded");
  await session.send("steer this", { id: "m2", delivery: "steer" });
  await session.send("later", { id: "m3" });
  await session.send("never", { id: "m4" });
  await session.withdraw("m4");
  await session.reschedule("m3", "steer");
  await session.reschedule("m3", "follow-up");
  await allow(session, "c1", {});
  const denied = refuse(session, "c2", { reason: "no" });
  await denied;
  const ended = await reached("turn.ended");
  const hanging = await reached("tool.started", ended.position);
  await reached("tool.approval-requested", ended.position);
  await session.send("held", { id: "m5" });
  await session.cancel();
  await session.resume();
  await stop.reached;
  await session.send("last", { id: "m6", delivery: "steer" });
  await session.cancel({ withdraw: true });
  const { position } = await session.view();
  const events: SessionEvent[] = [];
  for await (const event of session.events()) {
    events.push(event);
    if (event.position === position) break;
  }
  expect(hanging.position).toBeLessThan(position);
  return { session, events, runtime };
}

/** Numbers are given anew, and how a turn was asked to stop is not said of one that still does. */
function comparable({ queue, stopping: _, folds: __, ...rest }: ConversationState): object {
  return { ...rest, queue: queue.map(({ number: _number, ...message }) => message) };
}

describe("the state of a conversation", () => {
  it("is the same by its events as by the session's view, at every position", async () => {
    const { session, events, runtime } = await rich();
    await using _ = runtime;
    let state = newConversation;
    const seen = new Set<string>();
    for (const event of events) {
      state = foldConversation(state, event);
      expect
        .soft(comparable(state), `${event.position} ${event.type}`)
        .toEqual(comparable(conversationOf(await session.at(event.position))));
      seen.add(`${state.activity} ${state.held}`);
      for (const { status } of state.calls) seen.add(status);
    }
    expect([...seen].toSorted()).toEqual(
      expect.arrayContaining([
        "awaiting-approval",
        "idle false",
        "idle true",
        "retrying false",
        "running",
        "turn false",
        "waiting",
      ]),
    );
  });

  it("keeps a message's number for as long as it waits, and asks about the oldest call first", async () => {
    const { events, runtime } = await rich();
    await using _ = runtime;
    let state = newConversation;
    const numbers = new Map<string, Set<number>>();
    const firstAsked: (string | undefined)[] = [];
    for (const event of events) {
      state = foldConversation(state, event);
      for (const { id, number } of state.queue) {
        numbers.set(id, (numbers.get(id) ?? new Set()).add(number));
      }
      if (event.type.startsWith("tool.approval")) firstAsked.push(questionsOf(state)[0]?.callId);
    }
    expect([...numbers.values()].map((given) => given.size)).toEqual([1, 1, 1, 1, 1, 1]);
    expect([...(numbers.get("m3") ?? [])]).toEqual([2]);
    expect(firstAsked.slice(0, 4)).toEqual(["c1", "c1", "c2", undefined]);
  });
});

describe("a press that cancels", () => {
  const running: ConversationState = {
    ...newConversation,
    activity: "turn",
    calls: [{ callId: "c", toolName: "t", input: {}, status: "running" }],
  };
  const answering: ConversationState = { ...newConversation, activity: "turn" };

  it("waits for tools that run, does not at the second press, and has then no more to ask for", () => {
    expect(nextCancel(running, undefined)).toBe("after-tools");
    expect(nextCancel(running, "after-tools")).toBe("now");
    expect(nextCancel({ ...running, stopping: "after-tools" }, undefined)).toBe("now");
    expect(nextCancel(running, "now")).toBeUndefined();
  });

  it("stops a reply at once", () => {
    expect(nextCancel(answering, undefined)).toBe("now");
    expect(nextCancel({ ...answering, stopping: "now" }, undefined)).toBeUndefined();
  });
});
