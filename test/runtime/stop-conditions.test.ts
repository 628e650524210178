/** Conditions under which a turn ends after a step, as the AI SDK has them. */

import { hasToolCall, isLoopFinished, isStepCount, type StepResult, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { openMemoryLog, type Agent } from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { systemTimer, type Timer } from "../../src/shared/index.ts";
import { call, calling } from "../support/script.ts";
import { severableLog } from "../support/severed-log.ts";
import { virtualTime } from "../support/virtual-time.ts";
import { openSession } from "../support/with-runtime.ts";
import { containing, echo } from "./tools.ts";

type Steps = readonly StepResult<ToolSet>[];

/** A model that calls a tool in each of its steps, under a new id. */
function tireless(name = "echo") {
  let calls = 0;
  return scriptedModel(() => calling(call(name, `c${(calls += 1)}`, { value: calls })));
}

const tools = { echo, finish: echo };

describe("a turn with `stopWhen`", () => {
  it.each([
    ["a number of steps", isStepCount(3), 0, 3],
    ["a tool", hasToolCall("echo"), 0, 1],
    ["any of several", [isStepCount(4), ({ steps }: { steps: Steps }) => steps.length > 1], 1, 2],
  ])("ends by %s, and the log says by which condition", async (_, stopWhen, condition, count) => {
    await using open = await openSession({ model: tireless(), tools, stopWhen });
    const turn = await open.session.send("Go on.");
    expect(await turn.result).toMatchObject({ finishReason: "stop-condition" });
    const events = await open.events();
    expect(events.filter(({ type }) => type === "step.finished")).toHaveLength(count);
    const met = events.find((event) => event.type === "turn.limit-reached");
    expect(met?.data).toMatchObject({ limit: "stop-condition", condition });
  });

  it("takes more steps than the default limit, until the model concludes", async () => {
    let calls = 0;
    const model = scriptedModel(() =>
      calls === 60 ? "Done." : calling(call("echo", `c${(calls += 1)}`, { value: "x" })),
    );
    await using open = await openSession({
      model,
      tools,
      stopWhen: isLoopFinished(),
      loopGuard: false,
    });
    const turn = await open.session.send("Go on.");
    expect(await turn.result).toMatchObject({ finishReason: "stop", text: "Done." });
  });

  it("is not asked where the turn ends anyway, and continues with the next message", async () => {
    const asked: number[] = [];
    const model = scriptedModel([calling(call("echo", "1", { value: "a" })), "Done.", "Again."]);
    const stopWhen = ({ steps }: { steps: Steps }): boolean => {
      asked.push(steps.length);
      return false;
    };
    await using open = await openSession({ model, tools, stopWhen });
    await (
      await open.session.send("Go.")
    ).result;
    await (
      await open.session.send("More.")
    ).result;
    expect(asked).toEqual([1]);
  });

  it("fails by name when a condition throws, and the next message works", async () => {
    const stopWhen = (): boolean => {
      throw new Error("No idea.");
    };
    const model = scriptedModel([calling(call("echo", "1", { value: "a" })), "Fine."]);
    await using open = await openSession({ model, tools, stopWhen });
    const failing = (await open.session.send("Go.")).result;
    await expect(failing).rejects.toMatchObject({
      code: "TURN_FAILED",
      cause: { message: containing("`stopWhen` threw: No idea.") },
    });
    expect(await (await open.session.send("Again.")).result).toMatchObject({ text: "Fine." });
  });

  it("is cancelled while a condition is asked, whatever that answers then", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<boolean>();
    const stopWhen = async (): Promise<boolean> => {
      asked.resolve();
      return await answer.promise;
    };
    await using open = await openSession({ model: tireless(), tools, stopWhen });
    const turn = await open.session.send("Go.");
    await asked.promise;
    await open.session.cancel();
    expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    answer.reject(new Error("Too late."));
    expect(await open.types()).not.toContain("turn.limit-reached");
  });

  it("is out of time while a condition is asked, and its replay asks until then", async () => {
    const asked = Promise.withResolvers<void>();
    const stopWhen = async (): Promise<boolean> => {
      asked.resolve();
      return await new Promise<never>(() => {});
    };
    const dues: (() => void)[] = [];
    const timer: Timer = (milliseconds, due, wait) => {
      if (wait.kind === "turn") dues.push(due);
      return wait.kind === "turn"
        ? { [Symbol.dispose]: () => {} }
        : systemTimer(milliseconds, due, wait);
    };
    let now = 0;
    const agent: Agent = { model: tireless(), tools, stopWhen, timeout: { totalMs: 1000 } };
    await using open = await openSession(agent, { timer, clock: () => (now += 10) });
    const turn = await open.session.send("Go.");
    await asked.promise;
    await open.session.send("And?", { id: "later" });
    dues.at(-1)?.();
    expect(await turn.result).toMatchObject({ finishReason: "timed-out" });
    const events = await open.events();
    for (const pace of [{}, { pace: "recorded", time: virtualTime() } as const])
      expect(await replay(events, agent, pace)).toEqual({
        events: events.length,
        parts: expect.anything() as unknown,
      });
  });

  it("is replayed without asking a condition", async () => {
    const agent = { model: tireless(), tools };
    await using open = await openSession({ ...agent, stopWhen: isStepCount(2) });
    await (
      await open.session.send("Go.")
    ).result;
    const never = (): boolean => {
      throw new Error("Asked in a replay.");
    };
    expect(await replay(await open.events(), { ...agent, stopWhen: never })).not.toHaveProperty(
      "difference",
    );
    const other = await replay(await open.events(), agent);
    expect(other.difference?.recorded?.type).toBe("turn.limit-reached");
  });

  it("refuses a condition that is no function", async () => {
    // @ts-expect-error A number is no condition.
    const opening = openSession({ model: tireless(), tools, stopWhen: 5 });
    await expect(opening).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

/** What a condition can see of a step, without what a clock has said. */
function shown(steps: Steps): unknown {
  return steps.map((step) => ({
    number: step.stepNumber,
    model: step.model,
    text: step.text,
    reasoning: step.reasoningText,
    calls: step.toolCalls,
    results: step.toolResults,
    content: step.content,
    finishReason: step.finishReason,
    usage: step.usage,
    messages: step.response.messages,
    context: step.runtimeContext,
  }));
}

describe("the steps that a condition is given", () => {
  it("are the same after a restart, from the steps before it on", async () => {
    const seen: unknown[] = [];
    const stopWhen = ({ steps }: { steps: Steps }): boolean => {
      seen.push(structuredClone(shown(steps)));
      return false;
    };
    const hold = gate();
    const first = scriptedModel([
      calling(
        { type: "reasoning", deltas: ["Hm."] },
        { type: "text", deltas: ["I ", "look."] },
        call("echo", "1", { value: "a" }),
      ),
      calling(hold),
    ]);
    const agent = { tools, stopWhen, runtimeContext: { user: "ada" } };
    const log = await openMemoryLog();
    const mortal = severableLog(log);
    const open = await openSession({ ...agent, model: first }, { log: mortal });
    await open.session.send("Go.");
    await hold.reached;
    mortal.sever();
    const second = scriptedModel([calling(call("echo", "2", { value: "b" })), "Done."]);
    await using again = await openSession(
      { ...agent, model: second },
      { log, recovery: "continue" },
    );
    await again.session.idle();
    expect(seen).toHaveLength(2);
    expect(seen[1]).toEqual([...[seen[0]].flat(), expect.objectContaining({ number: 1 })]);
    expect(seen[0]).toMatchObject([
      {
        number: 0,
        text: "I look.",
        reasoning: "Hm.",
        calls: [{ type: "tool-call", toolCallId: "1", toolName: "echo", input: { value: "a" } }],
        results: [{ type: "tool-result", toolCallId: "1", toolName: "echo" }],
        finishReason: "tool-calls",
        messages: [{ role: "assistant" }, { role: "tool" }],
        context: { user: "ada" },
      },
    ]);
  });
});
