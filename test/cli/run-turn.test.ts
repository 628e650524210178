/** Calls that wait for approval: what becomes of a yes, a no, and of leaving the question. */
import { EventEmitter } from "node:events";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Asked } from "../../src/cli/chat/screen/turn-screen.ts";
import { takeInterrupts } from "../../src/cli/chat/host/interrupts.ts";
import { finishTurn, runTurn } from "../../src/cli/chat/run-turn.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type TurnResult } from "../../src/runtime/index.ts";

interface Ran {
  readonly result: Pick<TurnResult, "finishReason">;
  readonly events: readonly string[];
  /** Inputs that the tool was run with. */
  readonly ran: readonly string[];
}

/** A turn in which the model writes twice; the tool asks first. */
async function turn(
  approve?: (callId: string, signal: AbortSignal, press: () => void) => Promise<Asked>,
  { isLeftOpen = false }: { readonly isLeftOpen?: boolean } = {},
): Promise<Ran> {
  const ran: string[] = [];
  const events: string[] = [];
  const calls = ["a", "b"].map(
    (name) =>
      ({ type: "tool-call", toolCallId: `c-${name}`, toolName: "write", input: { name } }) as const,
  );
  const write = tool({
    inputSchema: z.object({ name: z.string() }),
    // oxlint-disable-next-line typescript/no-deprecated
    needsApproval: true,
    execute: ({ name }) => {
      ran.push(name);
      return "written";
    },
  });
  const model = scriptedModel([{ parts: calls }, "done"]);
  await using runtime = await createRuntime({ memory: true, agent: { model, tools: { write } } });
  using interrupts = takeInterrupts({
    signals: new EventEmitter(),
    close: () => runtime.close(),
    leave: (code) => {
      throw new Error(`left with ${code}`);
    },
    now: () => 0,
  });
  const view = {
    async show({ type }: { readonly type: string }) {
      events.push(type);
    },
    async cancelling() {
      events.push("(cancelling)");
    },
    ...(approve && {
      approve: (callId: string, signal: AbortSignal) =>
        approve(callId, signal, () => interrupts.press()),
    }),
  };
  const session = await runtime.session("one");
  if (!isLeftOpen) {
    return { result: await runTurn(session, "go", view, interrupts), events, ran };
  }
  const { result } = await session.send("go");
  let asked = 0;
  for await (const { type } of session.events()) {
    if (type === "tool.approval-requested") asked++;
    if (asked === calls.length) break;
  }
  await finishTurn(session, view, interrupts);
  return { result: await result, events, ran };
}

const said = (approved: boolean): Asked => ({
  kind: "answered",
  answer: { approved, always: false },
});

describe("a call that waits for approval", () => {
  it("runs after a yes, and is denied after a no, each by its own answer", async () => {
    const { result, events, ran } = await turn(async (callId) => said(callId === "c-b"));
    expect(ran).toEqual(["b"]);
    expect(events).toEqual(expect.arrayContaining(["tool.denied", "tool.succeeded"]));
    expect(result).toMatchObject({ finishReason: "stop", text: "done" });
  });

  it("is not run when the person leaves the question: the turn is cancelled", async () => {
    const { result, events, ran } = await turn(async () => ({ kind: "left" }));
    expect(ran).toEqual([]);
    expect(events).toContain("(cancelling)");
    expect(events.filter((type) => type === "tool.skipped")).toHaveLength(2);
    expect(result.finishReason).toBe("cancelled");
  });

  it("runs this call and the tool's later ones after an answer for good, asked once", async () => {
    let questions = 0;
    const { ran } = await turn(async () => {
      questions++;
      return { kind: "answered", answer: { approved: true, always: true } };
    });
    expect(ran).toEqual(["a", "b"]);
    expect(questions).toBe(1);
  });

  it("is refused without a terminal, and the model continues", async () => {
    const { result, events, ran } = await turn();
    expect(ran).toEqual([]);
    expect(events.filter((type) => type === "tool.denied")).toHaveLength(2);
    expect(result).toMatchObject({ finishReason: "stop", text: "done" });
  });

  it("is asked about when somebody else has left it open, and the rest of its turn is shown", async () => {
    const asked: string[] = [];
    const { result, events, ran } = await turn(
      async (callId) => {
        asked.push(callId);
        return said(callId === "c-a");
      },
      { isLeftOpen: true },
    );
    expect([asked, ran]).toEqual([["c-a", "c-b"], ["a"]]);
    expect(events).not.toContain("turn.started");
    expect(events.at(-1)).toBe("turn.ended");
    expect(result).toMatchObject({ text: "done" });
  });

  it("takes its question back when the turn is cancelled meanwhile, and asks no other", async () => {
    let questions = 0;
    const { result, ran } = await turn(async (_callId, signal, press) => {
      questions++;
      press();
      expect(signal.aborted).toBe(true);
      // Too late to count.
      return said(true);
    });
    expect([questions, ran]).toEqual([1, []]);
    expect(result.finishReason).toBe("cancelled");
  });
});
