/** Every strategy, on every session: cuts are legal, planning is pure and ends, and undoing is exact. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ModelMessage } from "ai";
import { byImportance } from "../../src/context/compaction/by-importance.ts";
import { checkpoint } from "../../src/context/compaction/checkpoint.ts";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { dropMiddle, dropOldest, slidingWindow } from "../../src/context/compaction/dropping.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { summarize } from "../../src/context/compaction/summarize.ts";
import type {
  CompactionPlan,
  CompactionStrategy,
  PlanBudget,
} from "../../src/context/compaction/compaction-strategy.ts";
import { requestText } from "../../src/context/compaction/request-text.ts";
import { withRunningRequest } from "../../src/context/compaction/running-request.ts";
import { itemMessages } from "../../src/projections/index.ts";
import { anySession, play } from "./any-session.ts";
import { nextPrompt, problems, withoutNotes } from "./next-prompt.ts";
import { gpt, Session } from "./session.ts";
import { runs } from "../support/runs.ts";

const measure = meter(defaultEstimator, gpt);
const ground = (messageTokens: number): PlanBudget => ({
  meter: measure,
  factor: 1,
  messageTokens,
});

const strategies = fc.oneof(
  fc.integer({ min: 1, max: 4 }).map((keepTurns) => dropOldest({ keepTurns })),
  fc.nat(3000).map((tokens) => slidingWindow({ tokens })),
  fc.constant(slidingWindow()),
  fc
    .tuple(fc.nat(1000), fc.nat(2000))
    .map(([headTokens, tailTokens]) => dropMiddle({ headTokens, tailTokens })),
  fc.constant(dropMiddle()),
  fc.constant(byImportance()),
  fc
    .tuple(fc.nat(3000), fc.func(fc.nat(9)))
    .map(([keep, points]) => byImportance({ keep, score: ({ turn }) => points(turn) })),
  fc.nat(3000).map((keepTokens) => summarize({ keepTokens })),
  fc.constant(summarize()),
  fc.nat(8).map((keepMessages) => checkpoint({ keepMessages, documents: ["PLAN.md"] })),
);

function compact(session: Session, { covers, summary }: CompactionPlan): void {
  session.record({
    type: "context.compacted",
    data: { strategy: "s", covers, summary, beforeTokens: 9, afterTokens: 1 },
  });
}

function tokensOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => {
    const { text, media, around } = measure.message(message);
    return sum + text + media + around;
  }, 0);
}

/** How many of the provider's own calls are shown without their results; below 0, results without calls. */
function unanswered(messages: readonly ModelMessage[]): number {
  const parts = messages.flatMap(({ role, content }) =>
    role === "assistant" && typeof content !== "string" ? content : [],
  );
  const calls = parts.filter((part) => part.type === "tool-call" && part.providerExecuted === true);
  return calls.length - parts.filter(({ type }) => type === "tool-result").length;
}

describe("a compaction of any session by any strategy", () => {
  it("leaves a prompt that every provider takes, and undoing it gives the earlier one back", () => {
    let planned = 0;
    fc.assert(
      fc.property(
        anySession,
        strategies,
        fc.integer({ min: 200, max: 6000 }),
        (shape, strategy, room) => {
          play(shape, (session) => {
            const { history, view } = session;
            const plan = strategy.plan(history, view, ground(room));
            expect(strategy.plan(history, view, ground(room))).toEqual(plan);
            if (plan === undefined) return;
            planned++;
            const whole = JSON.stringify(nextPrompt(session));
            const before = withoutNotes(nextPrompt(session));
            const { position } = session;
            const mark = session.mark();
            compact(session, plan);
            const after = withoutNotes(nextPrompt(session));
            expect(problems(session)).toEqual([]);
            // A call whose result may still come is not taken away before it.
            expect(unanswered(after)).toBe(unanswered(before));
            // What is kept is kept as it was, in its order.
            const kept = after.filter((message) => before.includes(message));
            expect(before.filter((message) => kept.includes(message))).toEqual(kept);
            expect(after.length - kept.length).toBeLessThanOrEqual(1);
            expect(kept).toEqual(
              before.filter((message) => !coveredBy(session, plan).has(message)),
            );
            session.record({ type: "context.restored", data: { position: position + 1 } });
            expect(JSON.stringify(nextPrompt(session))).toBe(whole);
            session.back(mark);
          });
        },
      ),
      runs(250),
    );
    expect(planned).toBeGreaterThan(200);
  });

  it("comes to an end when it is done again and again, and never forgets the latest request", () => {
    fc.assert(
      fc.property(
        anySession,
        strategies,
        fc.integer({ min: 200, max: 6000 }),
        (shape, strategy, room) => {
          const session = play(shape);
          const rounds = session.history.items.length + 2;
          const { items, turn } = session.history;
          const latest = items
            .filter((item) => item.kind === "user" && item.turn === turn && item.id.startsWith("m"))
            .map((item) =>
              JSON.stringify(item.kind === "user" ? requestText(item) : "").slice(1, -1),
            );
          for (let round = 0; ; round++) {
            const { history, view } = session;
            const plan = strategy.plan(history, view, ground(room));
            if (plan === undefined) break;
            const before = tokensOf(nextPrompt(session));
            // As the runtime takes it.
            compact(session, withRunningRequest(plan, history, view, ground(room)));
            const prompt = JSON.stringify(nextPrompt(session));
            for (const text of latest) expect(prompt).toContain(text);
            // The runtime takes none that saves less than a tenth.
            if (tokensOf(nextPrompt(session)) > 0.9 * before) break;
            expect(round).toBeLessThan(rounds);
          }
        },
      ),
      runs(250),
    );
  });
});

/** Messages of the items that a plan covers. */
function coveredBy({ history }: Session, { covers }: CompactionPlan): ReadonlySet<ModelMessage> {
  const items = history.items.filter(
    ({ position }) => covers.from <= position && position <= covers.to,
  );
  return new Set(items.flatMap((item) => itemMessages(item)));
}

const long = (tokens: number): string => "word ".repeat(tokens / 1.05);

function said(session: Session, plan: CompactionPlan | undefined): string {
  if (plan === undefined) throw new Error("Nothing was planned.");
  compact(session, plan);
  return JSON.stringify(nextPrompt(session));
}

function plan(
  { history, view }: Session,
  strategy: CompactionStrategy,
  messageTokens?: number,
): CompactionPlan | undefined {
  return strategy.plan(
    history,
    view,
    messageTokens === undefined ? undefined : ground(messageTokens),
  );
}

describe("a sliding window", () => {
  it("keeps half of what messages may have, from where a user speaks", () => {
    const session = new Session();
    for (let turn = 0; turn < 10; turn++) {
      session.ask(`Request ${turn}: ${long(1000)}`);
      session.start();
      session.say(`Answer ${turn}.`);
      session.finish();
      session.end();
    }
    const prompt = said(session, plan(session, slidingWindow(), 10_000));
    expect(prompt).toMatch(/^\[\{"role":"user","content":"Request 6/);
    expect(prompt).toContain("Request 9");
    expect(plan(session, slidingWindow())).toBeUndefined();
  });

  it("repeats the request of a turn that is longer than it, word by word", () => {
    const session = new Session();
    session.ask("First.");
    session.work("Old.");
    session.end();
    session.ask('Rename the «ship» to "boat"\nin every file.');
    for (let step = 0; step < 6; step++) session.work(`${step} ${long(1000)}`);
    const made = plan(session, slidingWindow({ tokens: 2500 }));
    expect(made?.summary).toContain('Rename the «ship» to "boat"\nin every file.');
    const prompt = said(session, made);
    expect(prompt).toContain('"5 word');
    expect(prompt).not.toContain('"1 word');
  });
});

describe("dropping the middle", () => {
  it("keeps how it began and what is newest, and says how many messages are missing", () => {
    const session = new Session();
    session.ask("The original request.");
    for (let step = 0; step < 8; step++) session.work(`${step} ${long(1000)}`);
    const made = plan(session, dropMiddle({ headTokens: 1500, tailTokens: 2500 }));
    expect(made?.summary).toBe("[10 messages of this conversation are not shown here.]");
    const prompt = said(session, made);
    expect(prompt).toContain("The original request.");
    expect(prompt).toContain('"0 word');
    expect(prompt).not.toContain('"3 word');
    expect(prompt).toContain('"7 word');
    for (let step = 8; step < 12; step++) session.work(`${step} ${long(1000)}`);
    const again = plan(session, dropMiddle({ headTokens: 1500, tailTokens: 2500 }));
    expect(again?.summary).toBe("[18 messages of this conversation are not shown here.]");
    expect(said(session, again)).not.toContain("[10 messages");
  });
});

describe("a checkpoint", () => {
  it("keeps the last six messages, both requests, and says where the rest is to be found", () => {
    const session = new Session();
    session.ask("Write the handbook.", "In English.");
    session.work("a", "b");
    session.end();
    session.ask("Only chapter two.");
    for (let step = 0; step < 6; step++) session.work(`Output ${step}`);
    const made = plan(
      session,
      checkpoint({ documents: ["PLAN.md", "notes/"], tools: ["read_file"] }),
    );
    expect(made?.summary).toContain("Write the handbook.\n\nIn English.");
    expect(made?.summary).toContain("Only chapter two.");
    expect(made?.summary).toContain("`PLAN.md` and `notes/`");
    expect(made?.summary).toContain("`read_file`");
    compact(session, made ?? { covers: { from: 1, to: 1 }, summary: "" });
    expect(nextPrompt(session)).toHaveLength(1 + 6);
    expect(plan(session, checkpoint())).toBeUndefined();
  });
});

describe("a request that takes much of the room", () => {
  it.each([
    ["a sliding window", slidingWindow()],
    ["a checkpoint", checkpoint()],
  ])("is repeated by %s, and half of the room is left all the same", (_, strategy) => {
    const session = new Session();
    session.ask(`Read on. ${long(1200)}`);
    for (let step = 0; step < 12; step++) session.work(`${step} ${long(700)}`);
    compact(session, plan(session, strategy, 6000) ?? { covers: { from: 1, to: 1 }, summary: "" });
    const prompt = nextPrompt(session);
    expect(JSON.stringify(prompt)).toContain("Read on.");
    expect(JSON.stringify(prompt)).toContain("11 word");
    expect(tokensOf(prompt)).toBeLessThanOrEqual(3050);
  });
});

describe("a checkpoint of messages of which six have no room", () => {
  it("keeps the newest of them, so that half of the room is left", () => {
    const session = new Session();
    session.ask("Read on.");
    for (let step = 0; step < 6; step++) session.work(`${step} ${long(1000)}`);
    const last = tokensOf(nextPrompt(session).slice(-2));
    const made = plan(session, checkpoint(), 5 * last);
    compact(session, made ?? { covers: { from: 1, to: 1 }, summary: "" });
    const prompt = nextPrompt(session);
    expect(prompt).toHaveLength(1 + 4);
    expect(JSON.stringify(prompt)).toContain("5 word");
    expect(tokensOf(prompt.slice(1))).toBeLessThanOrEqual(2.5 * last);
  });
});

describe("dropping the oldest turns", () => {
  it("keeps one turn more where the newest begin without a user's words", () => {
    const session = new Session();
    for (const turn of [1, 2, 3]) {
      session.ask(`Request ${turn}.`);
      session.work("Done.");
      session.end();
    }
    session.record({ type: "turn.started", data: { turn: 4, maxSteps: 9 } });
    session.resume(4);
    session.work("Gone on.");
    const prompt = said(session, plan(session, dropOldest({ keepTurns: 1 })));
    expect(prompt).toMatch(/^\[\{"role":"user","content":"Request 3/);
    expect(problems(session)).toEqual([]);
  });
});
