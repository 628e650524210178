/** The ids of calls as a model is sent them, message by message. */

import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { SentMessages } from "../../src/context/sent/messages.ts";
import { withCallIds } from "../support/call-ids.ts";

const claude = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5" };
const mistral = { provider: "mistral.chat", modelId: "mistral-large-latest" };

const user: ModelMessage = { role: "user", content: "Go." };
const text = { type: "text" as const, text: "So." };
const call = (toolCallId: string, more: object = {}) => ({
  type: "tool-call" as const,
  toolCallId,
  toolName: "work",
  input: {},
  ...more,
});
const result = (toolCallId: string, value = "done") => ({
  type: "tool-result" as const,
  toolCallId,
  toolName: "work",
  output: { type: "text" as const, value },
});
const step = (...ids: readonly string[]): readonly ModelMessage[] => [
  { role: "assistant", content: ids.map((id) => call(id)) },
  { role: "tool", content: ids.map((id) => result(id)) },
];

/** Every id of a prompt, in order, calls and results. */
function idsIn(messages: readonly ModelMessage[]): readonly string[] {
  return messages.flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : content.flatMap((part) => ("toolCallId" in part ? [part.toolCallId] : [])),
  );
}

const form = /^[a-z0-9]{9}$/;

describe("ids of calls that are sent", () => {
  it("are those of the log where each is there once, in letters that all take: the same prompt", () => {
    const prompt = [user, ...step("call_Ab-1", "toolu_01"), ...step("0"), user];
    expect(withCallIds(prompt, claude)).toBe(prompt);
  });

  it("are others where an id comes again, for the later call and its result", () => {
    const prompt = [user, ...step("0", "1"), ...step("0"), ...step("0")];
    const [, ...sent] = withCallIds(prompt, claude);
    const [a, b, c, d, third, fourth, fifth, sixth] = idsIn(sent);
    expect([a, b, c, d]).toEqual(["0", "1", "0", "1"]);
    expect([third, fifth]).toEqual([fourth, sixth]);
    expect(new Set([a, b, third, fifth]).size).toBe(4);
    expect(third).toMatch(form);
    expect(prompt.slice(1, 3)).toEqual(sent.slice(0, 2));
  });

  it.each([
    ["functions.look:0", "letters that not all take"],
    ["", "none"],
    ["x".repeat(41), "more than 40 characters"],
  ])("are others for %j: %s", (id) => {
    const [first, second] = idsIn(withCallIds([user, ...step(id)], claude));
    expect(first).toMatch(form);
    expect(second).toBe(first);
  });

  it("have nine letters and digits for Mistral's models, wherever they are served", () => {
    for (const model of [mistral, { provider: "gateway", modelId: "mistral/devstral-2" }]) {
      const sent = idsIn(withCallIds([user, ...step("call_1", "D681PevKs")], model));
      expect(sent).toEqual([sent[0], "D681PevKs", sent[0], "D681PevKs"]);
      expect(sent[0]).toMatch(form);
    }
  });

  it("stay what they are for calls that the provider has run, whatever their letters, with results that come later", () => {
    const run = (id: string) => call(id, { providerExecuted: true });
    const id = `ws_${"0".repeat(50)}`;
    const prompt: readonly ModelMessage[] = [
      user,
      { role: "assistant", content: [run(id), call("1")] },
      { role: "tool", content: [result("1")] },
      { role: "assistant", content: [result(id), text] },
      user,
    ];
    expect(withCallIds(prompt, mistral).slice(3)).toEqual(prompt.slice(3));
    expect(withCallIds(prompt, claude)).toBe(prompt);
  });

  it.each(["before", "behind"])(
    "tell a call that the provider has run from one of ours with the same id, %s it",
    (where) => {
      const its = [call("1", { providerExecuted: true })];
      const [first, second] = where === "before" ? [its, [call("1")]] : [[call("1")], its];
      const prompt: readonly ModelMessage[] = [
        user,
        { role: "assistant", content: [...first, ...second, result("1", "its own")] },
        { role: "tool", content: [result("1", "ours")] },
        user,
      ];
      const [one, other, itsResult, ownResult] = idsIn(withCallIds(prompt, claude));
      expect(one).toBe("1");
      expect(other).toMatch(form);
      expect([itsResult, ownResult]).toEqual(where === "before" ? [one, other] : [other, one]);
    },
  );

  it("are the same in a request for approval", () => {
    const request = { type: "tool-approval-request" as const, approvalId: "a", toolCallId: "a:1" };
    const prompt: readonly ModelMessage[] = [
      user,
      { role: "assistant", content: [call("a:1"), request] },
      { role: "tool", content: [result("a:1")] },
    ];
    const [first, second, third] = idsIn(withCallIds(prompt, claude));
    expect(first).toMatch(form);
    expect([second, third]).toEqual([first, first]);
  });

  it("are looked at once: a prompt that grew begins with the messages that were sent before", () => {
    const ids = new SentMessages(claude);
    const prompt = [user, ...step("0"), ...step("0")];
    const before = ids.messagesToSend(prompt);
    const after = ids.messagesToSend([...prompt, user, ...step("0")]);
    for (const [index, message] of before.entries()) expect(after[index]).toBe(message);
    expect(after).toEqual(withCallIds([...prompt, user, ...step("0")], claude));
    // Another prompt, as after a compaction, is looked at anew.
    const other = [user, ...step("0")];
    expect(ids.messagesToSend(other)).toBe(other);
  });
});
