/** A prompt of which the SDK converts what is new: the model is given the same to the byte. */

import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { experimental_streamLanguageModelCall as streamCall, type ModelMessage } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { assert, asyncProperty, constantFrom, array, nat, record, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { shorterCall } from "../../src/runtime/model/language-model-call.ts";
import { spoil } from "../support/spoil.ts";

const tool = (id: string, value: string): ModelMessage => ({
  role: "tool",
  content: [
    { type: "tool-result", toolCallId: id, toolName: "t", output: { type: "text", value } },
  ],
});

/** Messages that stand together in a prompt, of each kind that the SDK treats in its own way. */
const units = {
  user: (id: string): ModelMessage[] => [{ role: "user", content: `asks ${id}` }],
  parts: (id: string): ModelMessage[] => [
    {
      role: "user",
      content: [
        { type: "text", text: "" },
        { type: "text", text: `looks ${id}`, providerOptions: { p: { id } } },
        { type: "file", data: new Uint8Array([1, 2, 3]), mediaType: "image/png" },
      ],
    },
  ],
  says: (id: string): ModelMessage[] => [{ role: "assistant", content: `says ${id}` }],
  thinks: (id: string): ModelMessage[] => [
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: id, providerOptions: { p: { signature: id } } },
        { type: "text", text: "so" },
      ],
    },
  ],
  calls: (id: string): ModelMessage[] => [
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: id, toolName: "t", input: { id } }],
    },
    tool(id, `result ${id}`),
  ],
  // The SDK makes one message of the two results.
  callsTwice: (id: string): ModelMessage[] => [
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: `${id}a`, toolName: "t", input: {} },
        { type: "tool-call", toolCallId: `${id}b`, toolName: "t", input: {} },
      ],
    },
    tool(`${id}a`, "one"),
    tool(`${id}b`, "two"),
  ],
} as const;

/** A prompt grows, or loses units from anywhere, as when something was pruned or compacted. */
const change = record({
  add: array(constantFrom(...Object.values(units)), { minLength: 1, maxLength: 4 }),
  drop: array(nat(), { maxLength: 2 }),
});

function recordingModel(spoil: (prompt: LanguageModelV4Prompt) => void = () => {}) {
  const prompts: LanguageModelV4Prompt[] = [];
  const model = new MockLanguageModelV4({
    doStream: (options) => {
      prompts.push(structuredClone(options.prompt));
      spoil(options.prompt);
      return Promise.resolve({ stream: new ReadableStream() });
    },
  });
  return { model, prompts };
}

describe("a call that converts only what is new", () => {
  it("gives the model what it would be given of the whole prompt, however the prompt changes", async () => {
    await assert(
      asyncProperty(array(change, { maxLength: 8 }), string(), async (changes, instructions) => {
        const whole = recordingModel();
        const shorter = recordingModel();
        let known: ModelMessage[][] = [units.user("first")];
        for (const [index, { add, drop }] of changes.entries()) {
          known = known.filter((_, unit) => unit === 0 || !drop.some((n) => n % 9 === unit));
          known = [...known, ...add.map((unit, place) => unit(`${index}.${place}`))];
          const messages = known.flat();
          await streamCall({ model: whole.model, messages, instructions });
          await streamCall({ ...shorterCall(shorter.model, messages), instructions });
        }
        expect(shorter.prompts).toEqual(whole.prompts);
      }),
    );
  });

  it("hands over no message twice", async () => {
    const { model } = recordingModel();
    const messages = [...units.user("1"), ...units.calls("2")];
    const first = shorterCall(model, messages);
    expect(first.messages).toEqual(messages);
    await streamCall(first);
    const more = [...units.calls("3"), ...units.says("4")];
    expect(shorterCall(model, [...messages, ...more]).messages).toEqual(more);
    // Another model may take other media: it knows nothing of what was made for this one.
    expect(shorterCall(recordingModel().model, messages).messages).toEqual(messages);
  });

  it("lets the SDK join tool messages also where the first of them is known", async () => {
    const { model, prompts } = recordingModel();
    const messages = [...units.user("1"), ...units.calls("2")];
    await streamCall(shorterCall(model, messages));
    await streamCall(shorterCall(model, [...messages, tool("2", "late")]));
    await streamCall({ model, messages: [...messages, tool("2", "late")] });
    expect(prompts[1]).toEqual(prompts[2]);
  });

  it("is not changed by what a model or a middleware did to an earlier prompt", async () => {
    const { model, prompts } = recordingModel(spoil);
    const all = (id: string): ModelMessage[] =>
      Object.values(units).flatMap((unit, index) => unit(`${id}.${index}`));
    const structured: ModelMessage[] = [
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "j", toolName: "t", input: { list: [{ deep: 1 }] } },
        ],
        providerOptions: { p: { of: "message" } },
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "j",
            toolName: "t",
            output: { type: "json", value: { rows: [{ deep: 1 }] } },
            providerOptions: { p: { of: "part" } },
          },
        ],
      },
    ];
    const messages = [...all("1"), ...structured, ...all("2")];
    await streamCall(shorterCall(model, messages));
    await streamCall(shorterCall(model, [...messages, ...units.says("4")]));
    await streamCall(shorterCall(model, [...messages, ...units.says("4"), ...units.user("5")]));
    expect(prompts).toHaveLength(3);
    expect(prompts[2]?.slice(0, prompts[0]?.length)).toEqual(prompts[0]);
    expect(JSON.stringify(prompts)).not.toContain("spoilt");
  });
});
