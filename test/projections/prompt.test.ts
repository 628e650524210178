/** What the model is shown: everything as the provider sent it, or in the form that is accepted again. */

import { describe, expect, it } from "vitest";
import type { EventBody, ProviderMetadata } from "../../src/events/index.ts";
import { promptMessages } from "../../src/projections/prompt.ts";
import { PRUNED_PLACEHOLDER } from "../../src/projections/shown-item.ts";
import {
  asked,
  called,
  promptOf,
  said,
  stateOf,
  stepFinished,
  stepStarted,
  turnEnded,
} from "./session-of.ts";

const key = { step: 1, callId: "1" };
const error = { name: "Error", message: "It broke." };
const signed: ProviderMetadata = { anthropic: { signature: "s1gn3d" } };
const modelOutput = { type: "json", value: { done: true } } as const;

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

it("a user's texts of white space are left out, and its files and words stay", () => {
  const text = (words: string): { type: "text"; text: string } => ({ type: "text", text: words });
  const file = { type: "file", data: "AA==", mediaType: "image/png" } as const;
  const sent = (...content: readonly (typeof file | ReturnType<typeof text>)[]): unknown => {
    const [, started, delivered] = asked("");
    const data = { id: "m1", content: [...content], delivery: "follow-up" } as const;
    const queued: EventBody = { type: "message.queued", data };
    return promptOf(queued, ...[started, delivered].filter((one) => one !== undefined))[0]?.content;
  };
  expect(sent(text(" \n"), file, text("See."))).toEqual([file, text("See.")]);
  expect(sent(file, text(""))).toEqual([file]);
  expect(sent(text(" "))).toBeUndefined();
});
