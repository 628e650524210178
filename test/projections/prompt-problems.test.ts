/** The rules that providers enforce on prompts: each is named with its message, and a valid prompt has no problem. */

import type { AssistantContent, ModelMessage, ToolContent, ToolResultPart } from "ai";
import { describe, expect, it } from "vitest";
import { promptProblems, type PromptRule } from "../../src/projections/index.ts";

type AssistantPart = Exclude<AssistantContent, string>[number];

const go: ModelMessage = { role: "user", content: "Go." };
const text: AssistantPart = { type: "text", text: "Well." };
const thought: AssistantPart = { type: "reasoning", text: "Hm." };
const says = (...content: readonly AssistantPart[]): ModelMessage => ({
  role: "assistant",
  content: [...content],
});
const call = (toolCallId: string, more: object = {}): AssistantPart => ({
  type: "tool-call",
  toolCallId,
  toolName: "work",
  input: {},
  ...more,
});
const own = (toolCallId: string): AssistantPart => call(toolCallId, { providerExecuted: true });
const result = (toolCallId: string): ToolResultPart => ({
  type: "tool-result",
  toolCallId,
  toolName: "work",
  output: { type: "text", value: "Done." },
});
const results = (...ids: readonly string[]): ModelMessage => ({
  role: "tool",
  content: ids.map(result) satisfies ToolContent,
});

describe("a valid prompt", () => {
  it.each<[string, readonly ModelMessage[]]>([
    ["nothing", []],
    ["one message", [go]],
    ["answered calls", [go, says(call("a"), call("b")), results("a", "b"), says(text), go]],
    ["a step whose calls are answered last", [go, says(thought, call("a")), results("a")]],
    ["a provider's call with its result", [go, says(own("a"), result("a"), text), go]],
    ["a provider's call that is answered later", [go, says(own("a")), says(result("a"), text), go]],
    ["a provider that paused", [go, says(own("a"))]],
    ["a reply that is a text", [go, { role: "assistant", content: "Well." }, go]],
    [
      "a text with metadata only",
      [go, says({ type: "text", text: " ", providerOptions: { p: {} } }), go],
    ],
    ["a system message in the middle", [go, { role: "system", content: "Be brief." }]],
  ])("%s", (_, prompt) => {
    expect(promptProblems(prompt)).toEqual([]);
  });
});

describe("a breach is named, with its message", () => {
  it.each<[string, readonly ModelMessage[], readonly [PromptRule, number][]]>([
    ["a reply first", [says(text), go], [["begins-with-user", 0]]],
    ["a reply last", [go, says(text)], [["ends-with-input", 1]]],
    [
      "a text as the last reply",
      [go, { role: "assistant", content: "Well." }],
      [["ends-with-input", 1]],
    ],
    [
      "an answered call of the provider last",
      [go, says(own("a"), result("a"))],
      [["ends-with-input", 1]],
    ],
    ["two replies", [go, says(text), says(text), go], [["replies-apart", 2]]],
    [
      "two texts as replies",
      [go, says(text), { role: "assistant", content: "So." }, go],
      [["replies-apart", 2]],
    ],
    [
      "two replies, the later one with a result of another call",
      [go, says(own("a"), result("a")), says(own("b"), result("b"), text), go],
      [["replies-apart", 2]],
    ],
    ["a message without content", [go, says(), go], [["not-empty", 1]]],
    ["an empty message", [{ role: "user", content: "" }], [["not-empty", 0]]],
    ["a message of white space", [{ role: "user", content: " \n" }], [["not-empty", 0]]],
    [
      "an empty text of a message",
      [{ role: "user", content: [{ type: "text", text: "" }] }],
      [["not-empty", 0]],
    ],
    [
      "an empty text of a reply",
      [go, says({ type: "text", text: " " }, text), go],
      [["not-empty", 1]],
    ],
    ["a call without a result", [go, says(call("a")), go], [["calls-answered", 1]]],
    [
      "a call with two results",
      [go, says(call("a")), results("a", "a")],
      [
        ["calls-answered", 1],
        ["results-in-order", 2],
      ],
    ],
    [
      "one of two calls without a result",
      [go, says(call("a"), call("b")), results("b")],
      [["calls-answered", 1]],
    ],
    [
      "results in another order",
      [go, says(call("a"), call("b")), results("b", "a")],
      [["results-in-order", 2]],
    ],
    ["a result without a call", [go, says(call("a")), results("a", "b")], [["results-called", 2]]],
    [
      "a result of a call of the provider",
      [go, says(own("a"), result("a"), text), results("a")],
      [["results-called", 2]],
    ],
    [
      "a call of the provider without a result, before a user's words",
      [go, says(own("a"), text), go],
      [["provider-calls-answered", 1]],
    ],
    [
      "a call id twice, in one reply and in two",
      [go, says(call("a")), results("a"), says(own("a"), result("a"), text), go],
      [["unique-calls", 3]],
    ],
    ["reasoning last", [go, says(text, thought), go], [["reasoning-followed", 1]]],
    [
      "a file of reasoning last",
      [go, says(text, { type: "reasoning-file", data: "AA==", mediaType: "image/png" }), go],
      [["reasoning-followed", 1]],
    ],
  ])("%s", (_, prompt, expected) => {
    expect(promptProblems(prompt).map(({ rule, message }) => [rule, message])).toEqual(expected);
  });
});

it("lists problems in the order of the messages", () => {
  const prompt = [says(call("a")), go, says(call("a")), go];
  const places = promptProblems(prompt).map(({ rule, message }) => `${message} ${rule}`);
  expect(places).toEqual([
    "0 begins-with-user",
    "0 calls-answered",
    "2 calls-answered",
    "2 unique-calls",
  ]);
});

it("says in words which call, and how many results it has", () => {
  const said = (prompt: readonly ModelMessage[]): string =>
    promptProblems(prompt)
      .map(({ what }) => what)
      .join();
  expect(said([go, says(call("call-7")), results("call-7", "call-7")])).toMatch(/call-7.* 2 /);
  expect(said([go, says(own("call-8"), text), go])).toContain("call-8");
});
