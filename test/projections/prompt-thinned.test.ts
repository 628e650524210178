/** What is sent of a step whose reasoning was taken out of the log: nothing that refers to it. */

import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";
import { expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { asked, promptOf, stepFinished, stepStarted, turnEnded } from "./session-of.ts";

const item = (itemId: string) => ({ providerMetadata: { openai: { itemId } } });

/** As OpenAI's reasoning models answer, with what is stored there named. */
function step(dropped: boolean): readonly EventBody[] {
  const mark = dropped ? { dropped: true as const } : item("rs_1");
  return [
    stepStarted(1),
    { type: "part.reasoning-start", data: { id: "r", ...mark } },
    { type: "part.reasoning-delta", data: { id: "r", text: dropped ? "" : "I wonder." } },
    { type: "part.reasoning-end", data: { id: "r", ...mark } },
    { type: "part.text-start", data: { id: "t", ...item("msg_1") } },
    { type: "part.text-delta", data: { id: "t", text: "I look." } },
    { type: "part.text-end", data: { id: "t", ...item("msg_1") } },
    {
      type: "part.tool-call",
      data: { toolCallId: "c", toolName: "work", input: {}, ...item("fc_1") },
    },
    stepFinished(1, "tool-calls"),
    {
      type: "tool.started",
      data: { step: 1, callId: "c", toolName: "work", attempt: 1, effectId: "e" },
    },
    { type: "tool.succeeded", data: { step: 1, callId: "c", output: "done" } },
    turnEnded(),
    ...asked("And now?", 2),
  ];
}

/** What OpenAI's server would be given. */
async function sentInput(messages: ReturnType<typeof promptOf>): Promise<string> {
  let input = "";
  const openai = createOpenAI({
    apiKey: "none",
    fetch: (_, init) => {
      input = typeof init?.body === "string" ? init.body : "";
      return Promise.reject(new Error("Nobody is there."));
    },
  });
  const model = openai.responses("gpt-5");
  await generateText({ model, messages: [...messages], maxRetries: 0 }).catch(() => {});
  return input;
}

it("OpenAI is given no item that it would ask the reasoning for", async () => {
  const whole = promptOf(...asked("Go."), ...step(false));
  expect(await sentInput(whole)).toMatch(/"item_reference","id":"rs_1".*"id":"msg_1"/);
  const trimmed = promptOf(...asked("Go."), ...step(true));
  expect(promptProblems(trimmed)).toEqual([]);
  const sent = await sentInput(trimmed);
  expect(sent).not.toMatch(/item_reference|rs_1|msg_1|fc_1|wonder/);
  expect(sent).toMatch(/I look\..*"function_call","call_id":"c".*"function_call_output"/);
});

it("the same messages are sent as before, but for the reasoning and what names items", () => {
  const bare = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value, (key, inner: unknown) =>
        key === "providerOptions" ? undefined : inner,
      ),
    );
  const whole = promptOf(...asked("Go."), ...step(false));
  const trimmed = promptOf(...asked("Go."), ...step(true));
  const left = whole.map((message) =>
    typeof message.content === "string"
      ? message
      : { ...message, content: message.content.filter(({ type }) => type !== "reasoning") },
  );
  expect(bare(trimmed)).toEqual(bare(left));
});

it("what a part is marked with beside the id of its item stays", () => {
  const block = (id: string, openai: Readonly<Record<string, string>>): readonly EventBody[] => [
    { type: "part.text-start", data: { id, providerMetadata: { openai } } },
    { type: "part.text-delta", data: { id, text: id } },
    { type: "part.text-end", data: { id } },
  ];
  const prompt = promptOf(
    ...asked("Go."),
    stepStarted(1),
    { type: "part.reasoning-start", data: { id: "r", dropped: true } },
    { type: "part.reasoning-end", data: { id: "r", dropped: true } },
    ...block("marked", { itemId: "msg_1", phase: "final" }),
    ...block("named", { itemId: "msg_2" }),
    stepFinished(1),
  );
  expect(prompt.at(-1)?.content).toEqual([
    { type: "text", text: "marked", providerOptions: { openai: { phase: "final" } } },
    { type: "text", text: "named" },
  ]);
});
