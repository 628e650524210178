/** A provider that pauses in the middle of what it runs itself: the next message works. */

import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expect, it } from "vitest";
import type { NewEvent } from "../../src/events/index.ts";
import { openMemoryLog, verifySession } from "../../src/public/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { openSession, reopen } from "../support/with-runtime.ts";

const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};

type Options = Parameters<LanguageModelV4["doStream"]>[0];

/** A call of the provider's own, and its result. */
const ran = (id: string): LanguageModelV4StreamPart => ({
  type: "tool-call",
  toolCallId: id,
  toolName: "web_search",
  input: "{}",
  providerExecuted: true,
});
const found = (id: string): LanguageModelV4StreamPart => ({
  type: "tool-result",
  toolCallId: id,
  toolName: "web_search",
  result: { hits: 1 },
});

/** Streams as Anthropic's client does when the provider pauses: the last call has no result. */
const paused: readonly LanguageModelV4StreamPart[] = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "Let me look." },
  { type: "text-end", id: "t" },
  ran("srv1"),
  found("srv1"),
  ran("srv2"),
  { type: "finish", finishReason: { unified: "stop", raw: "pause_turn" }, usage },
];

/** Pauses in its first reply; `prompts` has what it was sent. */
function pausingModel(prompts: Options[]): LanguageModelV4 {
  const fine = scriptedModel(() => "Fine.");
  return new MockLanguageModelV4({
    doStream: async (options) => {
      prompts.push(options);
      return prompts.length > 1
        ? await fine.doStream(options)
        : { stream: ReadableStream.from(paused) };
    },
  });
}

it("the next prompt is without the call that has no result, and with all else; the log is sound", async () => {
  const prompts: Options[] = [];
  await using open = await openSession({ model: pausingModel(prompts) });
  expect(await (await open.session.send("Search.")).result).toMatchObject({ finishReason: "stop" });
  expect(await (await open.session.send("And?")).result).toMatchObject({ text: "Fine." });
  const sent = JSON.stringify(prompts[1]?.prompt);
  expect(sent).toContain("Let me look.");
  expect(sent).toContain("srv1");
  expect(sent).not.toContain("srv2");
  expect(
    promptProblems((await open.session.view()).prompt.messages).map(({ rule }) => rule),
  ).toEqual(["ends-with-input"]);
  // The history has it: nothing is lost.
  expect(JSON.stringify((await open.session.view()).history)).toContain("srv2");
  expect((await verifySession(open.log, "s")).problems).toEqual([]);
});

it("a fork at the pause, and a session that another process opens, go on with a prompt without the call", async () => {
  const prompts: Options[] = [];
  const model = pausingModel(prompts);
  const first = await openSession({ model });
  await (
    await first.session.send("Search.")
  ).result;
  const fork = await first.session.fork();
  expect(await (await fork.send("And?")).result).toMatchObject({ text: "Fine." });
  await using again = await reopen(first, { model });
  expect(await (await again.session.send("And?")).result).toMatchObject({ text: "Fine." });
  expect(prompts).toHaveLength(3);
  for (const { prompt } of prompts.slice(1)) {
    expect(JSON.stringify(prompt)).toContain("srv1");
    expect(JSON.stringify(prompt)).not.toContain("srv2");
  }
  expect((await verifySession(again.log, fork.id)).problems).toEqual([]);
});

it("`verify` says which prompt an earlier release sent with the call", async () => {
  await using open = await openSession({ model: pausingModel([]) });
  await (
    await open.session.send("Search.")
  ).result;
  await (
    await open.session.send("And?")
  ).result;
  const events = await open.events();
  const sent = events.map(({ position: _, ...event }): NewEvent =>
    event.type === "step.started" && event.data.step === 2
      ? { ...event, data: { ...event.data, promptDigest: "with-the-call" } }
      : event,
  );
  await using log = await openMemoryLog();
  await log.append("s", "none", sent, { origin: "copied" });
  const { problems } = await verifySession(log, "s");
  expect(problems.map(({ what }) => what)).toEqual([
    expect.stringContaining("the prompt of step 2 had a call that the provider ran"),
  ]);
});

it("`promptProblems` names a call that the provider ran and that has no result", () => {
  const ownCall = { type: "tool-call", toolCallId: "c", toolName: "t", input: {} } as const;
  const providerCall = { ...ownCall, toolCallId: "srv", providerExecuted: true } as const;
  const output = { type: "json", value: 1 } as const;
  const result = { type: "tool-result", toolCallId: "srv", toolName: "t", output } as const;
  const rules = (...replies: ModelMessage[]): readonly string[] =>
    promptProblems([
      { role: "user", content: "Go." },
      ...replies,
      { role: "user", content: "And?" },
    ]).map(({ rule }) => rule);
  expect(rules({ role: "assistant", content: [providerCall] })).toEqual([
    "provider-calls-answered",
  ]);
  expect(rules({ role: "assistant", content: [providerCall, result] })).toEqual([]);
  // OpenAI's hosted shell gives results of calls that it never showed.
  expect(rules({ role: "assistant", content: [result] })).toEqual([]);
  // The provider may give its own result after ours: in a later reply, or in one that is still to come.
  const ours: ModelMessage = { role: "tool", content: [{ ...result, toolCallId: "c" }] };
  const both: ModelMessage = { role: "assistant", content: [providerCall, ownCall] };
  expect(rules(both, ours, { role: "assistant", content: [result] })).toEqual([]);
  expect(rules(both, ours)).toEqual(["provider-calls-answered"]);
  expect(promptProblems([{ role: "user", content: "Go." }, both, ours])).toEqual([]);
  // A reply that continues where the provider paused follows it at once; another one does not.
  const pause: ModelMessage = { role: "assistant", content: [providerCall] };
  expect(rules(pause, { role: "assistant", content: [result] })).toEqual([]);
  expect(rules(pause, { role: "assistant", content: "Well." })).toEqual([
    "provider-calls-answered",
    "replies-apart",
  ]);
});
