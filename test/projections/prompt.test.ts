/** What the model is shown: everything as the provider sent it, or in the form that is accepted again. */

import { describe, expect, it } from "vitest";
import type { EventBody, ProviderMetadata } from "../../src/events/index.ts";
import { CUT_OFF_NOTE, promptMessages, PRUNED_PLACEHOLDER } from "../../src/projections/index.ts";
import {
  asked,
  called,
  promptOf,
  said,
  spent,
  stateOf,
  stepFinished,
  stepStarted,
  turnEnded,
} from "./session-of.ts";

const key = { step: 1, callId: "1" };
const error = { name: "Error", message: "It broke." };
const signed: ProviderMetadata = { anthropic: { signature: "s1gn3d" } };

/** A turn whose only call is then answered, or left as it is. */
function afterCall(...then: readonly EventBody[]): readonly EventBody[] {
  return [...asked("Go."), stepStarted(1), called("1"), stepFinished(1, "tool-calls"), ...then];
}

/** What the model is told of that call. */
function told(...then: readonly EventBody[]): unknown {
  const last = promptOf(...afterCall(...then)).at(-1);
  return last?.role === "tool" && last.content[0]?.type === "tool-result"
    ? last.content[0].output
    : undefined;
}

const started: EventBody = {
  type: "tool.started",
  data: { ...key, toolName: "work", attempt: 1, effectId: "e" },
};
const requested: EventBody = {
  type: "tool.approval-requested",
  data: { ...key, toolName: "work" },
};
const modelOutput = { type: "json", value: { done: true } } as const;

describe("a call is answered", () => {
  it("with the tool's output as it was made for the model", () => {
    const succeeded: EventBody = {
      type: "tool.succeeded",
      data: { ...key, output: "whole", modelOutput },
    };
    expect(told(started, succeeded)).toEqual(modelOutput);
  });

  it("in different words for each way in which it can end, or not have ended", () => {
    const words = {
      failed: told(started, { type: "tool.failed", data: { ...key, error } }),
      denied: told(requested, { type: "tool.denied", data: { ...key, reason: "too dear" } }),
      "skipped by a cancel": told({ type: "tool.skipped", data: { ...key, reason: "cancelled" } }),
      "skipped by a death": told({ type: "tool.skipped", data: { ...key, reason: "recovered" } }),
      "skipped by a limit": told({ type: "tool.skipped", data: { ...key, reason: "interrupted" } }),
      "unknown after a cancel": told(started, {
        type: "tool.unknown",
        data: { ...key, reason: "cancelled" },
      }),
      "unknown after a death": told(started, {
        type: "tool.unknown",
        data: { ...key, reason: "recovered" },
      }),
      "unknown after its time": told(started, {
        type: "tool.unknown",
        data: { ...key, reason: "timed-out" },
      }),
      running: told(started),
      waiting: told(),
    };
    const texts = Object.values(words).map((output) => JSON.stringify(output));
    expect(new Set(texts).size).toBe(texts.length);
    expect(words.failed).toEqual({ type: "error-text", value: "It broke." });
    expect(words.denied).toEqual({ type: "execution-denied", reason: "too dear" });
    expect(JSON.stringify(words["skipped by a death"])).toContain("It had no effect");
    expect(JSON.stringify(words["unknown after a death"])).toContain("It may have taken effect");
  });

  it("as not run yet while it waits for an answer, and as denied once it was refused", () => {
    expect(told(requested)).toEqual(told());
    const answered = (approved: boolean): EventBody => ({
      type: "tool.approval-answered",
      data: { ...key, approved, reason: "no" },
    });
    expect(told(requested, answered(false))).toEqual({ type: "execution-denied", reason: "no" });
    expect(told(requested, answered(true))).toEqual(told(started));
  });

  it("in the order of the calls, in whatever order the tools ended", () => {
    const end = (callId: string): EventBody => ({
      type: "tool.succeeded",
      data: { step: 1, callId, output: callId, modelOutput: { type: "text", value: callId } },
    });
    const prompt = promptOf(
      ...asked("Go."),
      stepStarted(1),
      called("1"),
      called("2"),
      called("3"),
      stepFinished(1, "tool-calls"),
      end("3"),
      end("1"),
      end("2"),
    );
    expect(JSON.stringify(prompt.at(-1)).match(/"value":"\d"/g)).toEqual([
      '"value":"1"',
      '"value":"2"',
      '"value":"3"',
    ]);
  });

  it("with an empty input in the place of one that is not JSON", () => {
    const invalid: EventBody = {
      type: "part.tool-call",
      data: { toolCallId: "1", toolName: "work", input: "{ not", invalid: true, error },
    };
    const [, assistant, tool] = promptOf(
      ...asked("Go."),
      stepStarted(1),
      invalid,
      stepFinished(1, "tool-calls"),
      { type: "tool.failed", data: { ...key, error } },
    );
    expect(assistant?.content).toMatchObject([{ type: "tool-call", input: {} }]);
    expect(tool?.content).toMatchObject([{ output: { type: "error-text", value: "It broke." } }]);
  });
});

describe("what the provider sent", () => {
  it("goes back with its metadata unchanged: ids, signatures, encrypted content", () => {
    const call: EventBody = {
      type: "part.tool-call",
      data: {
        toolCallId: "1",
        toolName: "work",
        input: {},
        providerMetadata: { google: { thoughtSignature: "t" } },
      },
    };
    const encrypted: ProviderMetadata = {
      openai: { itemId: "rs_1", reasoningEncryptedContent: "x" },
    };
    const [, assistant] = promptOf(
      ...asked("Go."),
      stepStarted(1),
      {
        type: "part.reasoning-start",
        data: { id: "r", providerMetadata: { openai: { itemId: "rs_1" } } },
      },
      { type: "part.reasoning-delta", data: { id: "r", text: "Hm." } },
      { type: "part.reasoning-end", data: { id: "r", providerMetadata: encrypted } },
      {
        type: "part.text-start",
        data: { id: "t", providerMetadata: { openai: { itemId: "msg_1" } } },
      },
      { type: "part.text-delta", data: { id: "t", text: "So be it." } },
      { type: "part.text-end", data: { id: "t" } },
      call,
      stepFinished(1, "tool-calls"),
    );
    expect(assistant).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", providerOptions: encrypted },
        { type: "text", text: "So be it.", providerOptions: { openai: { itemId: "msg_1" } } },
        {
          type: "tool-call",
          toolCallId: "1",
          toolName: "work",
          input: {},
          providerOptions: { google: { thoughtSignature: "t" } },
        },
      ],
    });
  });

  it("keeps the order of its parts, also where blocks were open side by side", () => {
    const [, assistant] = promptOf(
      ...asked("Go."),
      stepStarted(1),
      { type: "part.text-start", data: { id: "a" } },
      { type: "part.reasoning-start", data: { id: "b" } },
      { type: "part.text-delta", data: { id: "a", text: "one " } },
      { type: "part.reasoning-delta", data: { id: "b", text: "two " } },
      { type: "part.text-delta", data: { id: "a", text: "three" } },
      { type: "part.reasoning-end", data: { id: "b" } },
      { type: "part.text-end", data: { id: "a" } },
      called("1"),
      stepFinished(1, "tool-calls"),
    );
    expect(assistant?.content).toMatchObject([
      { type: "text", text: "one three" },
      { type: "reasoning", text: "two " },
      { type: "tool-call" },
    ]);
  });

  it("of tools that it ran itself stays in its own message, call and result", () => {
    const search = { toolCallId: "p", toolName: "search", providerExecuted: true };
    const [, assistant] = promptOf(
      ...asked("Go."),
      stepStarted(1),
      { type: "part.tool-call", data: { ...search, input: { q: 1 } } },
      { type: "part.tool-result", data: { ...search, output: { hits: 2 } } },
      ...said("Found."),
      stepFinished(1),
    );
    expect(assistant?.content).toMatchObject([
      { type: "tool-call", toolCallId: "p", providerExecuted: true },
      { type: "tool-result", toolCallId: "p", output: { type: "json", value: { hits: 2 } } },
      { type: "text", text: "Found." },
    ]);
  });
});

describe("a step that was cut off", () => {
  const interrupted: EventBody = {
    type: "step.interrupted",
    data: { step: 1, reason: "recovered", usage: spent },
  };
  const opened = (kind: "text" | "reasoning", id: string): readonly EventBody[] => [
    { type: `part.${kind}-start`, data: { id, providerMetadata: signed } },
    { type: `part.${kind}-delta`, data: { id, text: `${kind} ` } },
  ];
  const cutOff = (...parts: readonly EventBody[]) =>
    promptOf(
      ...asked("Go."),
      stepStarted(1),
      ...parts,
      interrupted,
      turnEnded(),
      ...asked("Go on.", 2),
    );

  it("keeps the text that had come, without the metadata of a block that was never complete", () => {
    expect(cutOff(...opened("text", "t"))).toEqual([
      { role: "user", content: "Go." },
      { role: "assistant", content: [{ type: "text", text: "text " }] },
      { role: "user", content: "Go on." },
    ]);
  });

  it("drops reasoning that nothing finished follows, and keeps reasoning that something does", () => {
    const closed: readonly EventBody[] = [
      ...opened("reasoning", "r"),
      { type: "part.reasoning-end", data: { id: "r", providerMetadata: signed } },
    ];
    expect(cutOff(...closed)).toHaveLength(2);
    expect(JSON.stringify(cutOff(...closed, ...opened("text", "t")))).not.toContain("reasoning");
    expect(JSON.stringify(cutOff(...closed, ...said("So.")))).toContain('"type":"reasoning"');
    expect(JSON.stringify(cutOff(...closed, called("1")))).toContain('"type":"reasoning"');
  });

  it("drops a call of the provider's own that has no result, and keeps one that has", () => {
    const search = { toolCallId: "p", toolName: "search", providerExecuted: true };
    const call: EventBody = { type: "part.tool-call", data: { ...search, input: {} } };
    const result: EventBody = { type: "part.tool-result", data: { ...search, output: "hits" } };
    expect(JSON.stringify(cutOff(...said("So."), call))).not.toContain("search");
    expect(JSON.stringify(cutOff(...said("So."), call, result))).toContain("search");
  });

  it("leaves no message when it had said nothing", () => {
    expect(cutOff({ type: "part.text-start", data: { id: "t" } })).toHaveLength(2);
  });

  it("is told to go on when the same turn goes on: a prompt never ends with the model's own words", () => {
    const prompt = promptOf(...asked("Go."), stepStarted(1), ...opened("text", "t"), interrupted);
    expect(prompt.at(-1)).toEqual({ role: "user", content: CUT_OFF_NOTE });
    expect(prompt).toHaveLength(3);
    const next = [stepStarted(2), ...said("on.")];
    const later = promptOf(
      ...asked("Go."),
      stepStarted(1),
      ...opened("text", "t"),
      interrupted,
      ...next,
      stepFinished(2),
    );
    expect(later.slice(0, 3)).toEqual(prompt);
    expect(later.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  });
});

describe("text of white space only", () => {
  it("is left out, as providers refuse it, unless it carries what the provider wants back", () => {
    const blank: readonly EventBody[] = [
      { type: "part.text-start", data: { id: "b" } },
      { type: "part.text-delta", data: { id: "b", text: "\n\n" } },
      { type: "part.text-end", data: { id: "b" } },
    ];
    const [, bare] = promptOf(
      ...asked("Go."),
      stepStarted(1),
      ...blank,
      called("1"),
      stepFinished(1),
    );
    expect(bare?.content).toMatchObject([{ type: "tool-call" }]);
    const carrying: EventBody = {
      type: "part.text-end",
      data: { id: "b", providerMetadata: signed },
    };
    const [, kept] = promptOf(
      ...asked("Go."),
      stepStarted(1),
      ...blank.slice(0, 2),
      carrying,
      called("1"),
      stepFinished(1),
    );
    expect(kept?.content).toMatchObject([{ type: "text", text: "\n\n" }, { type: "tool-call" }]);
  });
});

describe("a prompt that was pruned or compacted", () => {
  const talk = [
    ...asked("First."),
    stepStarted(1),
    called("1"),
    stepFinished(1, "tool-calls"),
    { type: "tool.succeeded", data: { ...key, output: "long", modelOutput } } satisfies EventBody,
    stepStarted(2),
    ...said("Done."),
    stepFinished(2),
    turnEnded(),
    ...asked("Second.", 2),
  ];
  const pruned: EventBody = { type: "context.pruned", data: { calls: [key], savedTokens: 9 } };
  const covers = (from: number, to: number, summary: string): EventBody => ({
    type: "context.compacted",
    data: { strategy: "s", covers: { from, to }, summary, beforeTokens: 9, afterTokens: 1 },
  });
  const restored = (position: number): EventBody => ({
    type: "context.restored",
    data: { position },
  });
  const end = talk.findIndex(({ type }) => type === "turn.ended") + 1;

  it("has a placeholder for a pruned result, and the result again when that is undone", () => {
    const plain = promptOf(...talk);
    const cleared = JSON.stringify(promptOf(...talk, pruned));
    expect(cleared).toContain(PRUNED_PLACEHOLDER);
    expect(cleared).not.toContain("done");
    expect(promptOf(...talk, pruned, restored(talk.length + 1))).toEqual(plain);
  });

  it("has the summary in the place of what it covers, and all of it again when that is undone", () => {
    const plain = promptOf(...talk);
    const compacted = promptOf(...talk, covers(1, end, "They talked."));
    expect(compacted).toEqual([
      { role: "user", content: "They talked." },
      { role: "user", content: "Second." },
    ]);
    expect(promptOf(...talk, covers(1, end, ""))).toEqual([{ role: "user", content: "Second." }]);
    expect(promptOf(...talk, covers(1, end, "They talked."), restored(talk.length + 1))).toEqual(
      plain,
    );
  });

  it("has the newest of two summaries that cover the same", () => {
    const twice = promptOf(...talk, covers(1, end, "Old."), covers(1, end, "New."));
    expect(twice.map(({ content }) => content)).toEqual(["New.", "Second."]);
  });
});

describe("messages", () => {
  it("are the same objects as long as what they are made from is over, so that they are hashed once", () => {
    const before = stateOf(
      ...asked("Go."),
      stepStarted(1),
      ...said("Done."),
      stepFinished(1),
      turnEnded(),
    );
    const [first, second] = [
      promptMessages(before.history, before.view),
      promptMessages(before.history, before.view),
    ];
    expect(first[0]).toBe(second[0]);
    expect(first[1]).toBe(second[1]);
  });

  it("of a first attempt that said nothing are not there", () => {
    const prompt = promptOf(
      ...asked("Go."),
      stepStarted(1),
      { type: "step.retrying", data: { step: 1, attempt: 1, delayMs: 0, error } },
      stepStarted(1, 2),
      ...said("Done."),
      stepFinished(1),
    );
    expect(prompt).toHaveLength(2);
  });
});
