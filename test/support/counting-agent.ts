/** An agent whose prompts are counted before they are shortened: nothing is billed, and much is overestimated. */

import { slidingWindow, tokenizer, tokens, type Agent } from "../../src/public/index.ts";
import type { CountRequest, TokenCounter } from "../../src/agent/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";

/** 310 tokens as they are estimated here, twice what they are. */
export const tale: string = "words and more words of a tale ".repeat(20);
/** Three of those fit. */
export const LIMIT = 1000;

export interface AskedCounter extends TokenCounter {
  readonly asked: readonly CountRequest[];
}

/** A counter that is told what to answer, or what to throw. */
export function counter(
  answer: (request: CountRequest, index: number) => unknown,
  timeoutMs?: number,
): AskedCounter {
  const asked: CountRequest[] = [];
  return {
    name: "clerk",
    asked,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    async count(request) {
      const index = asked.push(request) - 1;
      // What a user's program answers is not always what its types say.
      return (await answer(request, index)) as number;
    },
  };
}

export function countingAgent(
  clerk: TokenCounter,
  steps: readonly ScriptedStep[] = answers(9),
): Agent {
  return {
    model: scriptedModel(steps),
    instructions: "You listen.",
    context: {
      counter: clerk,
      estimator: tokenizer((text) => Math.ceil(text.length / 2)),
      prune: false,
      compact: { when: tokens(LIMIT), how: slidingWindow({ tokens: 400 }) },
    },
  };
}

/** Replies for which there is no bill. */
export function answers(count: number): readonly Exclude<ScriptedStep, string>[] {
  const usage = {
    inputTokens: {
      total: undefined,
      noCache: undefined,
      cacheRead: undefined,
      cacheWrite: undefined,
    },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  };
  return Array.from({ length: count }, (_, index) => ({
    parts: [{ type: "text", deltas: [`Answer ${index + 1}.`] }],
    usage,
  }));
}
