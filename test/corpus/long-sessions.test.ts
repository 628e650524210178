/**
 * The longest recorded sessions with windows far too small for them: pruned and compacted by plan
 * alone, before each step. Their provider is imagined to count a fifth more than our estimator.
 */

import { describe, expect, it } from "vitest";
import type { ModelMessage } from "ai";
import {
  checkpoint,
  aimOf,
  compactionDue,
  defaultEstimator,
  byImportance,
  dropMiddle,
  estimateContext,
  meter,
  overflow,
  planBudget,
  planPruning,
  promptCache,
  slidingWindow,
  threshold,
  type CompactionStrategy,
  type CompactionWhen,
  type ContextEstimate,
} from "../../src/context/index.ts";
import { defined, type ModelName } from "../../src/events/index.ts";
import { compactions, promptMessages } from "../../src/projections/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import {
  recordedSessions,
  sessionsAbsent,
  sessionsPresent,
  type RecordedSession,
} from "./session-corpus.ts";
import { long } from "../support/runs.ts";
import { SessionReplay } from "./session-replay.ts";

const model: ModelName = { provider: "imagined", modelId: "small" };
const measure = meter(defaultEstimator, model);
const MORE = 1.2;

/** What the imagined provider counts. */
function billed(messages: readonly ModelMessage[], instructions: string): number {
  return Math.round(
    messages.reduce(
      (sum, message) => {
        const { text, media, around } = measure.message(message);
        return sum + MORE * text + media + around;
      },
      MORE * defaultEstimator.text(instructions),
    ),
  );
}

interface Run {
  readonly prompts: number;
  readonly compacted: number;
  readonly largest: number;
  readonly problems: readonly string[];
}

function drive(
  session: RecordedSession,
  when: CompactionWhen,
  how: CompactionStrategy,
  contextWindow: number,
): Run {
  const replay = new SessionReplay(model);
  const instructions = session.messages.find(({ role }) => role === "system")?.content ?? "";
  const limits = { contextWindow, maxOutputTokens: Math.floor(contextWindow / 8) };
  const estimate = (): ContextEstimate =>
    estimateContext({ model, instructions, tools: "", limits, ...replay.state });
  let [prompts, compacted, largest] = [0, 0, 0];
  let settled: number | undefined;
  const problems: string[] = [];
  for (const message of session.messages) {
    if (message.role === "system" || message.mark !== undefined) continue;
    if (message.role === "user") {
      replay.user(message.content ?? "");
      continue;
    }
    if (message.role === "tool") {
      replay.result(message);
      continue;
    }
    let next = estimate();
    const { history, view, usage } = replay.state;
    const facts = { history, tokens: next.tokens, turns: 0, steps: 1, isCached: true };
    const tried = defined({ ...compactions.initial, settled });
    if (compactionDue(when, next, facts, tried) === "compact") {
      const factor = next.recorded.factor ?? 1;
      const pruning = planPruning({
        history,
        view,
        meter: measure,
        factor,
        cache: promptCache(usage, model, limits, 0),
        occasion: "compaction",
        options: { protectTokens: contextWindow / 4, minimumGain: contextWindow / 10 },
      });
      if (pruning !== undefined) {
        const { calls, savedTokens } = pruning;
        replay.record({ type: "context.pruned", data: { calls, savedTokens } });
      }
      const plan = how.plan(
        history,
        replay.state.view,
        planBudget(aimOf(when, next), next, measure),
      );
      if (plan !== undefined) {
        compacted++;
        replay.record({
          type: "context.compacted",
          data: { strategy: how.name, ...plan, beforeTokens: next.tokens, afterTokens: 0 },
        });
      }
      next = estimate();
      settled = next.tokens;
    }
    const prompt = promptMessages(replay.state.history, replay.state.view);
    const input = billed(prompt, instructions);
    prompts++;
    largest = Math.max(largest, input);
    // Some replies were recorded without the words that they answer.
    const found = promptProblems(prompt).filter(({ rule }) => rule !== "ends-with-input");
    problems.push(...found.map(({ what }) => what));
    replay.start(next.recorded);
    replay.finish({ ...message, usage: { input, output: message.usage?.output ?? 50 } });
  }
  return { prompts, compacted, largest, problems: [...new Set(problems)] };
}

const longest = (): readonly RecordedSession[] =>
  recordedSessions()
    .toSorted((one, other) => other.messages.length - one.messages.length)
    .slice(0, long ? 4 : 2);

describe("the longest recorded sessions", () => {
  it.for([
    ["a sliding window when it overflows", overflow(), slidingWindow()],
    ["a sliding window at half of the window", threshold(0.5), slidingWindow()],
    ["dropping the middle when it overflows", overflow(), dropMiddle()],
    ["the least important giving way when it overflows", overflow(), byImportance()],
    ["checkpoints when it overflows", overflow(), checkpoint({ documents: ["PLAN.md"] })],
  ] as const)("keep within their window, and valid, by %s", ([, when, how], { skip }) => {
    skip(!sessionsPresent, sessionsAbsent);
    let compacted = 0;
    for (const session of longest()) {
      for (const window of long ? [32_000, 64_000] : [32_000]) {
        const run = drive(session, when, how, window);
        expect(run.problems).toEqual([]);
        expect(run.largest).toBeLessThanOrEqual(window);
        // Room to grow is left each time: no compaction in every other step.
        expect(run.compacted).toBeLessThan(run.prompts / 8);
        expect(run.prompts).toBeGreaterThan(100);
        compacted += run.compacted;
      }
    }
    expect(compacted).toBeGreaterThan(8);
  });
});
