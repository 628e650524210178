/**
 * Reasoning in the next prompt, with the figures of recorded bills: of pydantic-ai's and ruby_llm's recordings of
 * the providers' answers.
 */

import { describe, expect, it } from "vitest";
import {
  estimateContext,
  type ContextEstimate,
} from "../../src/context/estimate/context-estimate.ts";
import type { ModelName, ProviderMetadata, TokenUsage } from "../../src/events/index.ts";
import { Session } from "./session.ts";

const gemini: ModelName = { provider: "google.generative-ai", modelId: "gemini-3-pro-preview" };
const grok: ModelName = { provider: "xai.chat", modelId: "grok-4-fast-reasoning" };

class Thinking extends Session {
  readonly model: ModelName;

  constructor(model: ModelName) {
    super();
    this.model = model;
    const agent = { digest: "", model, tools: [] };
    this.record({ type: "session.created", data: { agent } });
  }

  /** A reply that calls a tool, which brings nothing. */
  calls(billed: Partial<TokenUsage>, providerMetadata?: ProviderMetadata): void {
    const given = providerMetadata === undefined ? {} : { providerMetadata };
    const call = { toolCallId: "a", toolName: "read", input: {}, ...given };
    this.record({ type: "part.tool-call", data: call });
    this.finish(billed, "tool-calls");
    this.answer("a", "Mexico");
  }

  get next(): NonNullable<ContextEstimate["since"]> {
    return this.estimate().since ?? expect.fail("There is no bill.");
  }

  estimate(model: ModelName = this.model): ContextEstimate {
    const { history, view, usage, calibration } = this;
    const texts = { instructions: "", tools: "" };
    return estimateContext({ model, ...texts, history, view, usage, calibration });
  }
}

const signed = (provider: string): ProviderMetadata => ({
  [provider]: { thoughtSignature: "Et8E" },
});

describe("hidden thoughts of Gemini", () => {
  it("are in the prompts of their turn, as 165 tokens were billed after 29 and 120", () => {
    const session = new Thinking(gemini);
    session.ask("What is the capital of the user country? Call the tool");
    session.start(gemini);
    session.calls({ inputTokens: 29, outputTokens: 120, reasoningTokens: 110 }, signed("google"));
    expect(session.next).toMatchObject({ input: 29, output: 120, removed: 0 });
    expect(Math.abs(session.estimate().tokens - 165)).toBeLessThan(5);
  });

  it.each([
    ["google.vertex.chat", "gemini-3-flash-preview", signed("vertex")],
    ["google.vertex.chat", "gemini-3-pro-preview", signed("googleVertex")],
    ["gateway", "google/gemini-3-flash", signed("google")],
    [
      "openrouter",
      "google/gemini-3-pro-preview",
      { openrouter: { reasoning_details: [{ data: "Et8E" }] } },
    ],
  ])("are in them with the signature of %s with %s", (provider, modelId, metadata) => {
    const session = new Thinking({ provider, modelId });
    session.ask("Go.");
    session.start(session.model);
    session.calls({ inputTokens: 157, outputTokens: 470, reasoningTokens: 438 }, metadata);
    expect(session.next.output).toBe(470);
  });

  it("are in none of Gemini 2.5, which was billed 109 tokens after 57 and 15 of a call", () => {
    const session = new Thinking({ ...gemini, modelId: "gemini-2.5-pro" });
    session.ask("What is the capital of France?");
    session.start(session.model);
    session.calls({ inputTokens: 57, outputTokens: 126, reasoningTokens: 111 }, signed("google"));
    expect(session.next).toMatchObject({ input: 57, output: 15, removed: 0 });
  });

  it("are not in them without a signature", () => {
    const session = new Thinking(gemini);
    session.ask("Go.");
    session.start(gemini);
    session.calls({ inputTokens: 157, outputTokens: 470, reasoningTokens: 438 });
    expect(session.next.output).toBe(32);
  });

  it("leave the prompt with their turn, up to Gemini 3.1", () => {
    const session = new Thinking(gemini);
    session.ask("Go.");
    for (const inputTokens of [157, 646]) {
      session.start(gemini);
      session.calls({ inputTokens, outputTokens: 470, reasoningTokens: 438 }, signed("google"));
    }
    expect(session.next).toMatchObject({ input: 646, output: 470, removed: 0 });
    session.end();
    session.ask("And then?");
    expect(session.next).toMatchObject({ input: 646, output: 32, removed: 438 });
  });

  it("stay after it since Gemini 3.5", () => {
    const session = new Thinking({ ...gemini, modelId: "gemini-3.5-flash" });
    session.ask("Go.");
    session.start(session.model);
    session.calls({ inputTokens: 157, outputTokens: 470, reasoningTokens: 438 }, signed("google"));
    session.end();
    session.ask("And then?");
    expect(session.next).toMatchObject({ input: 157, output: 470, removed: 0 });
  });

  it("leave their summary, as 849 tokens were billed after 44 and 556 of text", () => {
    const session = new Thinking({ ...gemini, modelId: "gemini-3-flash-preview" });
    session.ask("What question do you ask the mirror?");
    session.start(session.model);
    session.think("I am weighing what the mirror cannot answer. ".repeat(24));
    session.say("Will you show me another?");
    session.finish({ inputTokens: 44, outputTokens: 1270, reasoningTokens: 714 });
    session.end();
    session.ask("tell me more");
    const summary = session.next.output - 556;
    expect(summary).toBeGreaterThan(200);
    expect(summary).toBeLessThan(240);
  });

  it("are gone with a compaction of their step, and for another model", () => {
    const session = new Thinking(gemini);
    session.ask("Go.");
    session.start(gemini);
    session.calls(
      { inputTokens: 157, outputTokens: 4700, reasoningTokens: 4680 },
      signed("google"),
    );
    expect(session.estimate(grok)).toMatchObject({ basis: "estimated" });
    expect(session.estimate(grok).tokens).toBeLessThan(300);
    const covers = { from: 1, to: session.position };
    const figures = { beforeTokens: 9, afterTokens: 1 };
    const data = { strategy: "s", covers, summary: "A tale.", ...figures };
    session.record({ type: "context.compacted", data });
    expect(session.estimate().tokens).toBeLessThan(100);
  });
});

describe("hidden reasoning of Grok", () => {
  it("is in the prompts of its turn though it was not sent, as 670 tokens were billed after 351 and 276", () => {
    const session = new Thinking(grok);
    session.ask("What is the location of Lodon and London?");
    session.start(grok);
    session.calls({ inputTokens: 351, outputTokens: 276, reasoningTokens: 223 });
    expect(session.next).toMatchObject({ input: 351, output: 276, removed: 0 });
    session.start(grok);
    session.calls({ inputTokens: 670, outputTokens: 146, reasoningTokens: 83 });
    session.end();
    session.ask("Thanks.");
    expect(session.next).toMatchObject({ input: 670, output: 63, removed: 223 });
  });

  it("is in none of Grok 3, which was billed 401 tokens after 324 and 37 of a call", () => {
    const session = new Thinking({ ...grok, modelId: "grok-3-mini" });
    session.ask("What's the weather in Berlin?");
    session.start(session.model);
    session.think("I need the weather.");
    session.calls({ inputTokens: 324, outputTokens: 307, reasoningTokens: 270 });
    expect(session.next).toMatchObject({ input: 324, output: 37, removed: 0 });
  });

  it("is not taken off for steps of another provider in the same turn", () => {
    const session = new Thinking(grok);
    session.ask("Go.");
    session.start(gemini);
    session.calls({ inputTokens: 100, outputTokens: 90, reasoningTokens: 80 }, signed("google"));
    session.start(grok);
    session.calls({ inputTokens: 351, outputTokens: 276, reasoningTokens: 223 });
    session.end();
    session.ask("Thanks.");
    expect(session.next).toMatchObject({ input: 351, output: 53, removed: 0 });
  });
});

describe("thinking of Claude", () => {
  const think = (modelId: string): Thinking => {
    const session = new Thinking({ provider: "anthropic.messages", modelId });
    session.ask("Go.");
    session.start(session.model);
    session.think("Hm.");
    session.say("Gone.");
    session.finish({ inputTokens: 1000, outputTokens: 500 });
    session.end();
    session.ask("And then?");
    return session;
  };

  it("stays after its turn since Opus 4.5 and Sonnet 4.6", () => {
    expect(think("claude-opus-4-6").next.output).toBe(500);
    expect(think("claude-sonnet-4-6").next.output).toBe(500);
  });

  it("leaves with its turn before, though the bill does not say how much it was", () => {
    for (const modelId of ["claude-sonnet-4-5", "claude-opus-4-1", "claude-haiku-4-5"])
      expect(think(modelId).next.output).toBeLessThan(5);
  });
});

it("of GLM, and of DeepSeek before V4, leaves with its turn", () => {
  for (const [modelId, left] of [
    ["glm-4.7", 150],
    ["deepseek-reasoner", 150],
    ["deepseek-v4-flash", 662],
  ] as const) {
    const session = new Thinking({ provider: "gateway", modelId });
    session.ask("What is 17 * 19? Think it through.");
    session.start(session.model);
    session.think("17 times 20 is 340.");
    session.say("It is 323.");
    session.finish({ inputTokens: 17, outputTokens: 662, reasoningTokens: 512 });
    session.end();
    session.ask("Now multiply that result by 2.");
    expect(session.next).toMatchObject({ input: 17, output: left });
  }
});

it("a reply has hardly more tokens than bytes in the next prompt, where hidden reasoning has no figure", () => {
  const session = new Thinking({ provider: "gateway", modelId: "acme-thinker" });
  session.ask("Go.");
  session.start(session.model);
  session.calls({ inputTokens: 157, outputTokens: 200_000 });
  expect(session.next.output).toBeLessThan(1000);
});
