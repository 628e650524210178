// Lifecycle callbacks are effects: called at most once, for what really runs, after it is durable, and
// whatever they do, the session continues.
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Meter } from "@opentelemetry/api";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { eventIdentity, type Agent, type RuntimeOptions } from "../../src/public/index.ts";
import { NOT_RUN } from "../../src/runtime/index.ts";
import type { Timer } from "../../src/shared/index.ts";
import { eventually } from "../support/eventually.ts";
import { impatientTimer } from "../support/impatient-timer.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen } from "../support/with-runtime.ts";
import { endOf } from "./tools.ts";

const pay = tool({
  inputSchema: z.object({ euros: z.number() }),
  // oxlint-disable-next-line typescript/no-deprecated
  needsApproval: true,
  execute: ({ euros }) => ({ paid: euros }),
});

function listening(heard: string[]): Partial<Agent> {
  return {
    onStart: () => void heard.push("onStart"),
    onStepStart: ({ stepNumber }) => void heard.push(`onStepStart ${stepNumber}`),
    onToolExecutionEnd: ({ toolCall }) =>
      void heard.push(`onToolExecutionEnd ${toolCall.toolName}`),
    onStepEnd: ({ stepNumber }) => void heard.push(`onStepEnd ${stepNumber}`),
    onEnd: ({ usage }) => void heard.push(`onEnd ${usage.outputTokens}`),
  };
}

const script = [calling(call("pay", "c1", { euros: 5 })), "Paid."];

describe("a turn that waits for people", () => {
  it("is two runs, and each tells its own usage", async () => {
    const heard: string[] = [];
    const agent = { model: scriptedModel(script), tools: { pay }, ...listening(heard) };
    await using open = await openSession(agent);
    const turn = await open.session.send("Pay.");
    const rest = await turn.untilRest();
    if (rest.kind !== "waiting") throw new Error("The turn does not wait.");
    for (const { approvalId } of rest.approvals) await open.session.approve(approvalId);
    await turn.result;
    await open.runtime.close();
    expect(heard).toEqual([
      "onStart",
      "onStepStart 0",
      "onStepEnd 0",
      "onEnd 3",
      "onStart",
      "onToolExecutionEnd pay",
      "onStepStart 0",
      "onStepEnd 0",
      "onEnd 2",
    ]);
  });

  it("tells a later process only of what that runs", async () => {
    const model = scriptedModel(script);
    const first = await openSession({ model, tools: { pay }, ...listening([]) });
    await (await first.session.send("Pay.")).untilRest();
    const heard: string[] = [];
    const second = await reopen(first, { model, tools: { pay }, ...listening(heard) });
    const { approvals } = await second.session.view();
    for (const { approvalId } of approvals) await second.session.approve(approvalId);
    await second.session.atRest();
    await second.runtime.close();
    expect(heard.slice(0, 2)).toEqual(["onStart", "onToolExecutionEnd pay"]);
    await first.log.close();
  });
});

it("an event is durable before its callback is called", async () => {
  const durable: boolean[] = [];
  const agent: Agent = {
    model: scriptedModel(["Hello."]),
    onStepEnd: async (event) => {
      const { position = 0 } = eventIdentity(event) ?? {};
      durable.push(position > 0 && (await open.log.revision("s")) >= position - 1);
    },
  };
  const open = await openSession(agent);
  await (
    await open.session.send("Go.")
  ).result;
  await open[Symbol.asyncDispose]();
  expect(durable).toEqual([true]);
});

it("a callback that never answers does not hold a cancelled turn, nor the end of the runtime", async () => {
  const called = Promise.withResolvers<void>();
  const agent: Agent = {
    model: scriptedModel(["Hello."]),
    onStepStart: () => {
      called.resolve();
      return new Promise<void>(() => {});
    },
  };
  await using open = await openSession(agent);
  const turn = await open.session.send("Go.");
  await called.promise;
  await open.session.cancel();
  expect((await turn.result).finishReason).toBe("cancelled");
});

describe("a turn that ends before its first step", () => {
  function preparing(heard: string[], prepareStep: NonNullable<Agent["prepareStep"]>): Agent {
    const onAbort = ({ reason }: { readonly reason?: unknown }): void =>
      void heard.push(String(reason));
    const listeners = { ...listening(heard), onAbort };
    return { model: scriptedModel(() => "Hello."), ...listeners, prepareStep };
  }
  const run = ["onStart", "onStepStart 0", "onStepEnd 0", "onEnd 2"];

  it("is aborted for the callbacks when it is cancelled in prepareStep, and the next one begins anew", async () => {
    const heard: string[] = [];
    const asked = Promise.withResolvers<void>();
    const prepareStep = async (): Promise<undefined> => {
      asked.resolve();
      if (heard.length === 1) await new Promise(() => {});
    };
    await using open = await openSession(preparing(heard, prepareStep));
    const turn = await open.session.send("Go.");
    await asked.promise;
    await open.session.cancel();
    expect((await turn.result).finishReason).toBe("cancelled");
    await (
      await open.session.send("Again.")
    ).result;
    await open.runtime.close();
    expect(heard).toEqual(["onStart", "AbortError: The turn was stopped.", ...run]);
  });

  it("is aborted when its first call would pass a limit", async () => {
    const heard: string[] = [];
    const agent = preparing(heard, () => undefined);
    await using open = await openSession(agent, { limits: { session: { tokens: 500 } } });
    const long = await open.session.send("A long message. ".repeat(1000));
    expect((await long.result).finishReason).toBe("out-of-budget");
    await open.runtime.close();
    expect(heard).toEqual(["onStart", "AbortError: The turn was stopped."]);
  });

  it("does not begin for the callbacks when it is cancelled before they are called", async () => {
    const heard: string[] = [];
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<undefined>();
    const agent = preparing(heard, () => undefined);
    await using open = await openSession(agent, {
      contextFor: () => {
        asked.resolve();
        return answer.promise;
      },
    });
    const turn = await open.session.send("Go.");
    await asked.promise;
    await open.session.cancel();
    await turn.result;
    answer.resolve(undefined);
    await new Promise(setImmediate);
    await open.runtime.close();
    expect(heard).toEqual([]);
  });
});

it("a call that is cancelled while `onToolExecutionStart` answers does not run", async () => {
  const called = Promise.withResolvers<void>();
  const answer = gate();
  let hasRun = false;
  const touch = tool({
    inputSchema: z.object({}),
    execute: () => {
      hasRun = true;
      return "touched";
    },
  });
  const agent: Agent = {
    model: scriptedModel([calling(call("touch", "c1"))]),
    tools: { touch },
    onToolExecutionStart: async () => {
      called.resolve();
      await answer.until;
    },
  };
  await using open = await openSession(agent, { graceMs: 60_000 });
  const turn = await open.session.send("Go.");
  await called.promise;
  const cancelled = open.session.cancel();
  await eventually(async () => expect(await open.types()).toContain("turn.cancel-requested"));
  answer.open();
  await cancelled;
  await turn.result;
  expect(await endOf(open, "c1")).toMatchObject({
    type: "tool.failed",
    data: { error: { message: NOT_RUN } },
  });
  expect(hasRun).toBe(false);
});

it("the end of a runtime waits for callbacks that are due", async () => {
  const heard: string[] = [];
  const agent: Agent = {
    model: scriptedModel(["Hello."]),
    onEnd: async () => {
      for (let turns = 0; turns < 50; turns++) await Promise.resolve();
      heard.push("onEnd");
    },
  };
  const open = await openSession(agent, { graceMs: 10_000 });
  await (
    await open.session.send("Go.")
  ).result;
  await open[Symbol.asyncDispose]();
  expect(heard).toEqual(["onEnd"]);
});

describe("a meter", () => {
  it("gets figures of what sessions do, and what waits", async () => {
    const { meter, figures, look } = figuresInMemory();
    await using open = await openSession(
      { model: scriptedModel(script), tools: { pay } },
      { meter },
    );
    const turn = await open.session.send("Pay.");
    const rest = await turn.untilRest();
    if (rest.kind !== "waiting") throw new Error("The turn does not wait.");
    expect(look()).toEqual({
      "turnlog.sessions.live": 1,
      "turnlog.queue.messages": 0,
      "turnlog.calls.waiting": 1,
    });
    for (const { approvalId } of rest.approvals) await open.session.approve(approvalId);
    await turn.result;
    expect(look()).toMatchObject({ "turnlog.calls.waiting": 0 });
    expect(figures.get("turnlog.turns")).toEqual([1]);
    expect(figures.get("turnlog.time_to_first_token")).toHaveLength(2);
    expect(figures.get("turnlog.events")).toHaveLength((await open.events()).length);
  });

  it("gets what calls cost, with their tokens and summaries, as the bill has it", async () => {
    const { meter, figures, attributes } = figuresInMemory();
    const model = scriptedModel(["One.", "Two.", ...Array.from({ length: 5 }, () => "A summary.")]);
    const limits = { [model.modelId]: { prices: { input: 3, output: 15 } } };
    await using open = await openSession({ model, context: { limits } }, { meter });
    await (
      await open.session.send("One?")
    ).result;
    await (
      await open.session.send("Two?")
    ).result;
    await open.session.compact();
    await (
      await open.session.send("Three?")
    ).result;
    const { cost, calls } = await open.session.bill();
    const sum = (name: string): number =>
      (figures.get(name) ?? []).reduce((one, other) => one + other, 0);
    expect(cost.total.dollars).toBeGreaterThan(0);
    expect(sum("turnlog.cost")).toBeCloseTo(cost.total.dollars, 12);
    const input = calls.map(({ usage }) => usage.inputTokens);
    expect(figures.get("turnlog.cache.input_tokens")).toEqual(input);
    expect(figures.get("turnlog.cache.read_tokens")).toHaveLength(calls.length);
    expect(figures.get("turnlog.cache.written_tokens")).toHaveLength(calls.length);
    expect(attributes.get("turnlog.cost")).toEqual(
      calls.map(({ purpose }) => ({ model: `${model.provider}:${model.modelId}`, purpose })),
    );
    expect(calls.map(({ purpose }) => purpose)).toContain("summary");
  });

  it("is one of OpenTelemetry's API", () => {
    const accepts = (meter: Meter): RuntimeOptions["meter"] => meter;
    expect(accepts).toBeTypeOf("function");
  });
});

interface Figures {
  readonly meter: NonNullable<RuntimeOptions["meter"]>;
  readonly figures: ReadonlyMap<string, readonly number[]>;
  readonly attributes: ReadonlyMap<string, readonly object[]>;
  readonly look: () => Readonly<Record<string, number>>;
}

function figuresInMemory(): Figures {
  const figures = new Map<string, number[]>();
  const attributes = new Map<string, object[]>();
  const gauges = new Map<string, (result: { observe(value: number): void }) => void>();
  const add =
    (name: string) =>
    (value: number, of: object = {}): void => {
      attributes.set(name, [...(attributes.get(name) ?? []), of]);
      figures.set(name, [...(figures.get(name) ?? []), value]);
    };
  const meter: NonNullable<RuntimeOptions["meter"]> = {
    createCounter: (name) => ({ add: add(name) }),
    createHistogram: (name) => ({ record: add(name) }),
    createObservableGauge: (name) => ({
      addCallback: (look) => void gauges.set(name, look),
    }),
  };
  const look = (): Record<string, number> => {
    const seen: Record<string, number> = {};
    for (const [name, gauge] of gauges) gauge({ observe: (value) => void (seen[name] = value) });
    return seen;
  };
  return { meter, figures, attributes, look };
}

it.each(["language-model-call", "stream-text"] as const)(
  "an attempt that was not answered in time is no error of the provider: `onError` has the next one's alone, by %s",
  async (stepSource) => {
    const called = Promise.withResolvers<void>();
    const failure = new Error("The key is wrong.");
    const scripted = scriptedModel([{ failure }]);
    let calls = 0;
    const model = {
      ...scripted,
      doStream: async (options: Parameters<typeof scripted.doStream>[0]) => {
        if ((calls += 1) > 1) return await scripted.doStream(options);
        called.resolve();
        return await new Promise<never>(() => {});
      },
    };
    const timer: Timer = (milliseconds, due, wait) => {
      if (wait.kind !== "model") return impatientTimer(milliseconds, due, wait);
      if (calls === 0) void called.promise.then(due);
      return { [Symbol.dispose]: () => {} };
    };
    const errors: unknown[] = [];
    const onError = ({ error }: { readonly error: unknown }): void => void errors.push(error);
    const agent: Agent = { model, timeout: { firstChunkMs: 1000 }, onError };
    await using open = await openSession(agent, { stepSource, timer });
    const turn = await open.session.send("Go.");
    await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
    await open.runtime.close();
    expect(errors).toEqual([failure]);
  },
);
