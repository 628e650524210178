/** The rules by which every prompt of every test is judged: each finds its breach, and nothing else. */

import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { promptProblems, type PromptRule } from "../../src/testing/index.ts";

const user: ModelMessage = { role: "user", content: "Go." };

function call(toolCallId: string, more: object = {}) {
  return { type: "tool-call" as const, toolCallId, toolName: "work", input: {}, ...more };
}

function result(toolCallId: string) {
  const output = { type: "text" as const, value: "done" };
  return { type: "tool-result" as const, toolCallId, toolName: "work", output };
}

const text = { type: "text" as const, text: "So be it." };
const reasoning = { type: "reasoning" as const, text: "Hm." };

describe("a prompt", () => {
  it.each<[string, readonly ModelMessage[]]>([
    ["with nothing in it", []],
    ["with one message", [user]],
    [
      "that asks, calls and answers",
      [
        user,
        { role: "assistant", content: [reasoning, text, call("1"), call("2")] },
        { role: "tool", content: [result("1"), result("2")] },
      ],
    ],
    [
      "in which the provider ran a tool",
      [
        user,
        { role: "assistant", content: [call("p", { providerExecuted: true }), result("p"), text] },
        user,
      ],
    ],
    [
      "in which an empty text carries a signature",
      [
        user,
        {
          role: "assistant",
          content: [
            { type: "text", text: "", providerOptions: { google: { thoughtSignature: "s" } } },
          ],
        },
        user,
      ],
    ],
  ])("%s is in order", (_, messages) => {
    expect(promptProblems(messages)).toEqual([]);
  });

  it.each<[PromptRule, readonly ModelMessage[]]>([
    ["begins-with-user", [{ role: "assistant", content: [text] }, user]],
    ["ends-with-input", [user, { role: "assistant", content: [text] }]],
    ["not-empty", [{ role: "user", content: "" }]],
    ["not-empty", [{ role: "user", content: " \n" }]],
    ["not-empty", [{ role: "user", content: [] }]],
    [
      "not-empty",
      [user, { role: "assistant", content: [{ type: "text", text: "\n\n" }, text] }, user],
    ],
    ["calls-answered", [user, { role: "assistant", content: [call("1")] }, user]],
    [
      "calls-answered",
      [
        user,
        { role: "assistant", content: [call("1")] },
        { role: "tool", content: [result("1"), result("1")] },
      ],
    ],
    [
      "results-called",
      [
        user,
        { role: "assistant", content: [call("1")] },
        { role: "tool", content: [result("1"), result("2")] },
      ],
    ],
    [
      "results-in-order",
      [
        user,
        { role: "assistant", content: [call("1"), call("2")] },
        { role: "tool", content: [result("2"), result("1")] },
      ],
    ],
    [
      "unique-calls",
      [
        user,
        { role: "assistant", content: [call("1"), call("1")] },
        { role: "tool", content: [result("1")] },
      ],
    ],
    [
      "unique-calls",
      [
        user,
        { role: "assistant", content: [call("1")] },
        { role: "tool", content: [result("1")] },
        { role: "assistant", content: [call("1")] },
        { role: "tool", content: [result("1")] },
      ],
    ],
    [
      "unique-calls",
      [
        user,
        { role: "assistant", content: [call("1", { providerExecuted: true }), result("1"), text] },
        user,
        { role: "assistant", content: [call("1")] },
        { role: "tool", content: [result("1")] },
      ],
    ],
    ["reasoning-followed", [user, { role: "assistant", content: [text, reasoning] }, user]],
  ])("that breaks %s is found out", (rule, messages) => {
    expect(promptProblems(messages).map((problem) => problem.rule)).toContain(rule);
  });
});
