/**
 * The bills of recorded sessions: their parts sum to what was billed, and what the cache should have read is what
 * the provider billed as read. Tool definitions were not recorded: a session's first bill tells their size.
 */

import { describe, expect, it } from "vitest";
import { sessionBill, type SessionBill } from "../../src/bill/index.ts";
import { modelCatalogue } from "../../src/context/index.ts";
import { billProblems } from "../bill/bill-problems.ts";
import { all, sampled } from "../support/runs.ts";
import {
  recordedSessions,
  sessionsAbsent,
  sessionsPresent,
  type RecordedSession,
} from "./session-corpus.ts";
import { modelOf, SessionReplay } from "./session-replay.ts";

const known = { catalogue: await modelCatalogue() };

function billOf(session: RecordedSession): {
  readonly bill: SessionBill;
  readonly problems: unknown;
} {
  const model = modelOf(session);
  const replay = new SessionReplay(model);
  replay.record({ type: "session.created", data: { agent: { digest: "", model, tools: [] } } });
  for (const message of session.messages) {
    if (message.role === "system" || message.mark !== undefined) continue;
    if (message.role === "user") replay.user(message.content ?? "");
    else if (message.role === "tool") replay.result(message);
    else {
      replay.start({ tokens: 0, basis: "length" });
      replay.finish(message);
    }
  }
  const bill = sessionBill(replay.events, { known });
  return { bill, problems: billProblems(bill, replay.state.usage) };
}

/** One in three in `npm test`, and the session of Claude with cached tokens. */
function chosen(): readonly RecordedSession[] {
  const recorded = recordedSessions();
  const some = new Set(sampled(recorded, 1));
  return recorded.filter((session) => some.has(session) || session.file === "pi-mono.jsonl");
}

function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** The share by which a prediction is off; nothing was read in a pause that was not recorded. */
function errorsOf({ calls }: SessionBill): readonly number[] {
  return calls.flatMap(({ predictedReads, usage: { cacheReadTokens = 0 } }) =>
    predictedReads === undefined || cacheReadTokens === 0
      ? []
      : [Math.abs(predictedReads / cacheReadTokens - 1)],
  );
}

describe("a recorded session", () => {
  const bills = lazily(() => chosen().map((session) => ({ ...session, ...billOf(session) })));

  it("has a bill whose parts sum to what was billed", ({ skip }) => {
    skip(!sessionsPresent, sessionsAbsent);
    expect(bills().length).toBeGreaterThan(all ? 100 : 30);
    expect(bills().filter(({ problems }) => JSON.stringify(problems) !== "[]")).toEqual([]);
  });

  it.for([
    ["deepseek", all ? 2000 : 500],
    ["claude", 400],
  ] as const)("of %s read from the cache what was predicted", ([maker, least], { skip }) => {
    skip(!sessionsPresent, sessionsAbsent);
    const of = bills().filter(({ model }) => model.includes(maker));
    const errors = of.flatMap(({ bill }) => errorsOf(bill));
    expect(errors.length).toBeGreaterThan(least);
    expect(quantile(errors, 0.5)).toBeLessThanOrEqual(0.001);
    expect(quantile(errors, 0.9)).toBeLessThanOrEqual(0.01);
  });
});
