/**
 * Every recorded session whose provider sent bills is replayed, and each prompt estimated before its
 * bill is looked at. The bars hold for every model; a session is never seen before it is played.
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { estimateContext, defaultEstimator } from "../../src/context/index.ts";
import { recordedSessions, sessionsAbsent, sessionsPresent } from "./session-corpus.ts";
import { modelOf, SessionReplay } from "./session-replay.ts";
import { corpusFolder } from "./wire-manifest.ts";

interface Guess {
  readonly source: string;
  readonly estimated: number;
  readonly billed: number;
  readonly anchored: boolean;
  /**
   * A bill that is smaller than the one before it, though nothing was taken away: something was in
   * that earlier prompt which nobody recorded. Neither of the two can be guessed.
   */
  hidden: boolean;
}

function guesses(): readonly Guess[] {
  return recordedSessions().flatMap((session) => {
    const model = modelOf(session);
    const replay = new SessionReplay(model);
    const instructions = session.messages.find(({ role }) => role === "system")?.content ?? "";
    const made: Guess[] = [];
    for (const message of session.messages) {
      if (message.role === "system" || message.mark !== undefined) continue;
      if (message.role === "user") replay.user(message.content ?? "");
      else if (message.role === "tool") replay.result(message);
      else {
        const estimate = estimateContext({ model, instructions, tools: "", ...replay.state });
        replay.start(estimate.recorded);
        replay.finish(message);
        const billed = message.usage?.input ?? 0;
        if (billed === 0) continue;
        const before = made.at(-1);
        const hidden = before !== undefined && billed < before.billed;
        if (hidden) before.hidden = true;
        made.push({
          source: `${session.model} (${session.file.replace(/\.jsonl$/, "")})`,
          estimated: estimate.tokens,
          billed,
          anchored: estimate.basis !== "estimated",
          hidden,
        });
      }
    }
    return made;
  });
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

const errorOf = ({ estimated, billed }: Guess): number => Math.abs(estimated - billed) / billed;

describe("the estimate of a prompt", () => {
  it("is within 0.3 % of the bill in the median and within 3 % in 99 of 100 steps, for every model", ({
    skip,
  }) => {
    skip(!sessionsPresent, sessionsAbsent);
    const bySource = Map.groupBy(
      guesses().filter(({ anchored }) => anchored),
      ({ source }) => source,
    );
    expect(bySource.size).toBeGreaterThanOrEqual(7);
    const report = [...bySource].map(([source, made]) => {
      const shown = made.filter(({ hidden }) => !hidden);
      return {
        source,
        steps: made.length,
        hidden: made.length - shown.length,
        median: quantile(made.map(errorOf), 0.5),
        p99: quantile(shown.map(errorOf), 0.99),
        p99OfAll: quantile(made.map(errorOf), 0.99),
      };
    });
    if (process.env["TURNLOG_REPORT"] !== undefined) console.table(report);
    expect(report.filter(({ median }) => median > 0.003)).toEqual([]);
    expect(report.filter(({ p99 }) => p99 > 0.03)).toEqual([]);
    // What cannot be guessed stays rare, so that it hides nothing.
    expect(report.filter(({ hidden, steps }) => hidden > steps * 0.03)).toEqual([]);
  });
});

const counted = z.looseObject({ kind: z.string(), text: z.string(), o200k: z.number().positive() });

describe("the default estimator", () => {
  it("is within 15 % of o200k in the median, for every kind of text with five or more examples", ({
    skip,
  }) => {
    skip(!sessionsPresent, sessionsAbsent);
    const texts = readFileSync(resolve(corpusFolder, "token-counts.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => counted.parse(JSON.parse(line)));
    const kinds = [...Map.groupBy(texts, ({ kind }) => kind)].map(([kind, examples]) => ({
      kind,
      examples: examples.length,
      median: quantile(
        examples.map(({ text, o200k }) => Math.abs(defaultEstimator.text(text) / o200k - 1)),
        0.5,
      ),
    }));
    if (process.env["TURNLOG_REPORT"] !== undefined) console.table(kinds);
    const judged = kinds.filter(({ examples }) => examples >= 5);
    expect(judged.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["base64-image", "lang-ko", "json-compact", "english-prose"]),
    );
    expect(judged.filter(({ median }) => median > 0.15)).toEqual([]);
    const chinese = kinds.filter(({ kind }) => kind.startsWith("lang-zh"));
    expect(chinese.filter(({ median }) => median > 0.15)).toEqual([]);
  });
});
