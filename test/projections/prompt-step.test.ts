/** The messages of one step: what a provider gave goes back to it as it was, except what it would refuse. */

import { describe, expect, it } from "vitest";
import { REDACTED } from "../../src/events/index.ts";
import type { CallPart, HistoryPart, StepItem } from "../../src/projections/history-item.ts";
import { isTrimmed, stepMessages } from "../../src/projections/prompt-step.ts";

function step(status: StepItem["status"], ...parts: readonly HistoryPart[]): StepItem {
  return {
    kind: "step",
    turn: 1,
    step: 1,
    attempt: 1,
    model: { provider: "turnlog", modelId: "scripted" },
    position: 1,
    time: 1,
    status,
    parts,
  };
}

/** The content of the reply. */
function reply(status: StepItem["status"], ...parts: readonly HistoryPart[]): unknown {
  return stepMessages(step(status, ...parts))[0]?.content;
}

const finished = (...parts: readonly HistoryPart[]): unknown => reply("finished", ...parts);

const providerMetadata = { openai: { itemId: "i", other: 1 } };
const providerOptions = providerMetadata;

const text = (more: object = {}): HistoryPart => ({
  kind: "text",
  id: "t",
  text: "Well.",
  open: false,
  ...more,
});
const thought = (more: object = {}): HistoryPart => ({
  kind: "reasoning",
  id: "r",
  text: "Hm.",
  open: false,
  ...more,
});
const call = (more: Partial<CallPart> = {}): CallPart => ({
  kind: "call",
  callId: "a",
  toolName: "work",
  input: { n: 1 },
  outcome: { status: "succeeded", position: 2, output: "Done." },
  ...more,
});
const own = (more: object = {}): HistoryPart => ({
  kind: "provider-call",
  callId: "p",
  toolName: "search",
  input: { q: 1 },
  ...more,
});
const found = (more: object = {}): HistoryPart => ({
  kind: "provider-result",
  callId: "p",
  toolName: "search",
  output: "found",
  isError: false,
  ...more,
});

const said = { type: "text", text: "Well." };
const toolCall = { type: "tool-call", toolCallId: "a", toolName: "work", input: { n: 1 } };

describe("each part goes back in the provider's form", () => {
  const ownCall = { type: "tool-call", toolCallId: "p", toolName: "search", input: { q: 1 } };
  const ownResult = { type: "tool-result", toolCallId: "p", toolName: "search" };
  const blob = { bytes: 3 };
  it.each<[string, HistoryPart, object]>([
    ["text", text(), said],
    ["a call", call(), toolCall],
    ["a provider's call", own(), { ...ownCall, providerExecuted: true }],
    ["its result", found(), { ...ownResult, output: { type: "text", value: "found" } }],
    [
      "its failure",
      found({ output: { a: 1 }, isError: true }),
      { ...ownResult, output: { type: "error-json", value: { a: 1 } } },
    ],
    [
      "a file",
      { kind: "file", data: "AA==", mediaType: "image/png", blob },
      { type: "file", data: "AA==", mediaType: "image/png", blob },
    ],
    [
      "a custom part",
      { kind: "custom", customKind: "xai.note" },
      { type: "custom", kind: "xai.note" },
    ],
  ])("%s", (_, part, sent) => {
    expect(finished(part)).toStrictEqual([sent]);
    expect(finished({ ...part, providerMetadata } as HistoryPart)).toStrictEqual([
      { ...sent, providerOptions },
    ]);
  });

  it("reasoning and files of reasoning, before what follows them", () => {
    const file = { data: "AA==", mediaType: "image/png" };
    const reasoned = [thought({ providerMetadata }), { kind: "reasoning-file", ...file } as const];
    expect(finished(...reasoned, text())).toStrictEqual([
      { type: "reasoning", text: "Hm.", providerOptions },
      { type: "reasoning-file", ...file },
      said,
    ]);
    const measured = { kind: "reasoning-file", ...file, blob } as const;
    expect(finished(measured, text())).toMatchObject([{ blob }, said]);
  });

  it("sources, errors and parts without a provider's name do not", () => {
    const error = { name: "Error", message: "No." };
    expect(
      finished(
        { kind: "source", source: {} },
        { kind: "error", error },
        { kind: "custom", customKind: "note" },
      ),
    ).toBeUndefined();
  });
});

describe("text", () => {
  it("of white space goes back only with metadata, whole", () => {
    expect(finished(text({ text: " \n" }))).toBeUndefined();
    expect(finished(text({ text: " ", providerMetadata }))).toEqual([
      { type: "text", text: " ", providerOptions },
    ]);
    expect(reply("interrupted", text({ text: " ", open: true, providerMetadata }))).toBeUndefined();
  });

  it("that was cut off loses its metadata, since its item was never completed", () => {
    expect(reply("interrupted", text({ open: true, providerMetadata }))).toStrictEqual([said]);
  });
});

describe("reasoning", () => {
  it("needs something finished and shown after it", () => {
    expect(finished(thought())).toBeUndefined();
    expect(finished(text(), thought())).toEqual([said]);
    expect(finished(thought(), thought())).toBeUndefined();
    expect(finished(thought(), text({ text: "" }))).toBeUndefined();
    expect(finished(thought(), { kind: "source", source: {} })).toBeUndefined();
    expect(reply("interrupted", thought(), text({ open: true }))).toEqual([said]);
    expect(finished(thought(), call())).toMatchObject([{ type: "reasoning" }, toolCall]);
    expect(finished(thought(), thought({ text: "So." }), call())).toMatchObject([
      { text: "Hm." },
      { text: "So." },
      toolCall,
    ]);
  });

  it("that was cut off does not go back", () => {
    expect(reply("interrupted", thought({ open: true }), text())).toEqual([said]);
  });
});

describe("after trimming of reasoning", () => {
  const dropped = thought({ dropped: true, text: "" });

  it("a step loses its item ids, and nothing else", () => {
    const bare = text({ providerMetadata: { openai: { itemId: "i" } } });
    const two = call({ providerMetadata: { openai: { itemId: "i" }, anthropic: { cache: 1 } } });
    expect(finished(dropped, text({ providerMetadata }), bare, two)).toStrictEqual([
      { ...said, providerOptions: { openai: { other: 1 } } },
      said,
      { ...toolCall, providerOptions: { anthropic: { cache: 1 } } },
    ]);
    expect(finished(dropped, text(), { kind: "source", source: {} }, call())).toEqual([
      said,
      toolCall,
    ]);
    expect(finished(thought(), text({ providerMetadata }))).toMatchObject([
      { type: "reasoning" },
      { providerOptions },
    ]);
  });

  it("says that it was trimmed", () => {
    const file = {
      kind: "reasoning-file",
      data: "",
      mediaType: "image/png",
      dropped: true,
    } as const;
    expect(isTrimmed(step("finished", text(), dropped))).toBe(true);
    expect(isTrimmed(step("finished", file))).toBe(true);
    expect(isTrimmed(step("finished", text(), thought()))).toBe(false);
    expect(isTrimmed(step("finished", text({ dropped: true })))).toBe(false);
    expect(isTrimmed(step("finished"))).toBe(false);
  });
});

describe("after a redaction", () => {
  it("reasoning without metadata, files, and a provider's result with its call are left out", () => {
    expect(finished(thought({ text: REDACTED }), text())).toEqual([said]);
    expect(finished(thought({ text: REDACTED, providerMetadata }), text())).toMatchObject([
      { type: "reasoning" },
      said,
    ]);
    for (const kind of ["file", "reasoning-file"] as const)
      expect(finished({ kind, data: "", mediaType: "image/png" }, text())).toEqual([said]);
    expect(finished(own(), found({ output: REDACTED }), text())).toEqual([said]);
    const other = { callId: "q", output: "kept" };
    expect(
      finished(own(), own({ callId: "q" }), found({ output: REDACTED }), found(other), text()),
    ).toMatchObject([{ toolCallId: "q" }, { toolCallId: "q" }, said]);
  });

  it("text and calls have placeholders", () => {
    expect(finished(text({ text: REDACTED }))).toEqual([{ type: "text", text: REDACTED }]);
    expect(finished(call({ input: REDACTED }))).toMatchObject([{ input: REDACTED }]);
  });
});

it("in a step that was cut off, a provider's call without its result is left out", () => {
  for (const status of ["interrupted", "failed", "streaming"] as const) {
    expect(reply(status, own(), text())).toEqual([said]);
    expect(reply(status, own(), found({ callId: "q" }), text())).toMatchObject([
      { toolCallId: "q" },
      said,
    ]);
    expect(reply(status, own(), found(), text())).toMatchObject([
      { toolCallId: "p", type: "tool-call" },
      { toolCallId: "p", type: "tool-result" },
      said,
    ]);
  }
  expect(finished(own(), text())).toMatchObject([{ toolCallId: "p" }, said]);
});

it("an invalid call goes back with an object, as its input was text that is not JSON", () => {
  const inputOf = (more: Partial<CallPart>): unknown => finished(call(more));
  expect(inputOf({ input: "{", invalid: true })).toMatchObject([{ input: {} }]);
  expect(inputOf({ input: { a: 1 }, invalid: true })).toMatchObject([{ input: { a: 1 } }]);
  expect(inputOf({ input: "{" })).toMatchObject([{ input: "{" }]);
  expect(inputOf({ input: "{", invalid: false })).toMatchObject([{ input: "{" }]);
});

it("a tool message follows with one result for each call, in the order of the calls", () => {
  const marked = { openai: { caller: "c" } };
  const messages = stepMessages(
    step(
      "finished",
      call(),
      text(),
      call({ callId: "b", providerMetadata: marked }),
      own(),
      found(),
    ),
  );
  const output = { type: "text", value: "Done." };
  expect(messages.map(({ role }) => role)).toEqual(["assistant", "tool"]);
  expect(messages[1]?.content).toStrictEqual([
    { type: "tool-result", toolCallId: "a", toolName: "work", output },
    { type: "tool-result", toolCallId: "b", toolName: "work", output, providerOptions: marked },
  ]);
  expect(stepMessages(step("finished", text(), own(), found()))).toHaveLength(1);
  expect(stepMessages(step("finished"))).toEqual([]);
});
