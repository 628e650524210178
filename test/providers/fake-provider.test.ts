/** The fake providers, asked by the real clients. */

import { APICallError } from "ai";
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import {
  endings,
  fakeProvider,
  providerNames,
  providers,
  type Answer,
  type FakeProvider,
} from "./index.ts";

const prompt: LanguageModelV4CallOptions["prompt"] = [
  { role: "user", content: [{ type: "text", text: "What is there?" }] },
];

async function partsOf(
  { model }: FakeProvider,
  options: Partial<LanguageModelV4CallOptions> = {},
): Promise<readonly LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream({ prompt, ...options });
  return await Array.fromAsync(stream);
}

async function refusalOf(asked: Promise<unknown>): Promise<APICallError> {
  const error: unknown = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!APICallError.isInstance(error)) throw new Error("It was not refused.", { cause: error });
  return error;
}

function textOf(parts: readonly LanguageModelV4StreamPart[]): string {
  return parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
}

describe.each(providerNames)("%s", (name) => {
  it("is understood by its own client: text, a call, the reason to finish and the bill", async () => {
    const answers: readonly Answer[] = [
      {
        parts: [{ text: ["I ", "look."] }, { call: { name: "look", input: { at: "it" } } }],
      },
    ];
    const bill = (): { input: number; cacheRead: number } => ({ input: 70, cacheRead: 30 });
    await using provider = await fakeProvider(name, { answers, bill });
    const parts = await partsOf(provider);
    expect(textOf(parts)).toBe("I look.");
    expect(parts.find(({ type }) => type === "tool-call")).toMatchObject({
      toolName: "look",
      input: '{"at":"it"}',
    });
    expect(parts.find(({ type }) => type === "finish")).toMatchObject({
      finishReason: { unified: "tool-calls" },
      usage: { inputTokens: { total: 100, cacheRead: 30 } },
    });
    expect(provider.requests).toMatchObject([{ breaches: [], refused: undefined }]);
  });

  // OpenAI's older interface shows none.
  it.skipIf(name === "openai-chat")("thinks before it speaks", async () => {
    const answers = [{ parts: [{ thinking: ["Let me ", "see."] }, { text: "I look." }] }];
    await using provider = await fakeProvider(name, { answers });
    const parts = await partsOf(provider);
    const thought = parts.map((part) => (part.type === "reasoning-delta" ? part.delta : ""));
    expect(thought.join("")).toBe("Let me see.");
    expect(textOf(parts)).toBe("I look.");
  });

  it("refuses what breaks a rule, in its own words", async () => {
    await using provider = await fakeProvider(name);
    const half: LanguageModelV4CallOptions["prompt"] = [
      { role: "user", content: [{ type: "text", text: "half of a \ud83d" }] },
    ];
    const { statusCode, responseBody } = await refusalOf(partsOf(provider, { prompt: half }));
    const { refused = "", breaches } = provider.requests[0] ?? {};
    expect({ statusCode, rule: breaches?.[0]?.rule }).toEqual({
      statusCode: 400,
      rule: "whole-characters",
    });
    expect(JSON.parse(responseBody ?? "")).toEqual(providers[name].refusal(refused));
  });

  it("refuses for a planted cause, and then answers", async () => {
    const refuse = (body: unknown): string | undefined =>
      JSON.stringify(body).includes("What") ? "No questions." : undefined;
    await using provider = await fakeProvider(name, { refuse });
    expect((await refusalOf(partsOf(provider))).statusCode).toBe(400);
    const told: LanguageModelV4CallOptions["prompt"] = [
      { role: "user", content: [{ type: "text", text: "Go." }] },
    ];
    expect(textOf(await partsOf(provider, { prompt: told }))).toBe("That is all.");
    expect(provider.requests.map(({ refused }) => refused)).toEqual(["No questions.", undefined]);
  });

  it.each([
    "as it should",
    "the reason error",
    "a reason that nobody knows",
    "nothing said",
  ] as const)("ends a reply: %s", async (ending) => {
    await using provider = await fakeProvider(name, { answers: [endings[ending]] });
    expect((await partsOf(provider)).at(-1)?.type).toBe("finish");
    expect(provider.requests).toMatchObject([{ refused: undefined }]);
  });

  it("ends a reply in order without a reason to finish, and no word of it is lost", async () => {
    const answers = [endings["in order, without a reason to finish"]];
    await using provider = await fakeProvider(name, { answers });
    expect(textOf(await partsOf(provider))).toBe("Half of a sentence that");
  });

  it.each(["reset in the middle of a word", "an error in the stream"] as const)(
    "breaks a reply: %s",
    async (ending) => {
      await using provider = await fakeProvider(name, { answers: [endings[ending]] });
      const failure = await partsOf(provider).then(
        (parts) => parts.find(({ type }) => type === "error"),
        (error: unknown) => error,
      );
      expect(failure).toBeDefined();
    },
  );

  it("says nothing any more, until the caller gives up", async () => {
    await using provider = await fakeProvider(name, { answers: [endings["nothing any more"]] });
    const controller = new AbortController();
    const { stream } = await provider.model.doStream({
      prompt,
      abortSignal: controller.signal,
    });
    const reader = stream.getReader();
    let text = "";
    while (text !== "Half of a sentence that") {
      const { value } = await reader.read();
      if (value?.type === "text-delta") text += value.delta;
    }
    const rest = reader.read();
    controller.abort();
    await expect(rest).rejects.toThrow(/abort/i);
  });

  it.each(["200 with an error", "200 with a page"] as const)("answers with %s", async (kind) => {
    await using provider = await fakeProvider(name, { answers: [endings[kind]] });
    const parts = await partsOf(provider).catch((error: unknown) => error);
    expect(JSON.stringify(parts)).not.toContain("That is");
    expect(provider.requests).toMatchObject([{ refused: undefined }]);
  });
});
