/**
 * A plan for a session with cut results is made as if its tools had said no more than what is
 * shown: compared with a twin whose tools did.
 */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkpoint } from "../../src/context/compaction/checkpoint.ts";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { byImportance } from "../../src/context/compaction/by-importance.ts";
import { dropMiddle, dropOldest, slidingWindow } from "../../src/context/compaction/dropping.ts";
import {
  estimateContext,
  type ContextEstimate,
} from "../../src/context/estimate/context-estimate.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { planCuts } from "../../src/context/shortening/result-cuts.ts";
import { planPruning } from "../../src/context/shortening/pruning.ts";
import { summarize } from "../../src/context/compaction/summarize.ts";
import type { PlanBudget } from "../../src/context/compaction/compaction-strategy.ts";
import type { EventBody } from "../../src/events/index.ts";
import {
  cutItem,
  promptMessages,
  resultText,
  type HistoryItem,
} from "../../src/projections/index.ts";
import { anySession, play, type AnySession } from "./any-session.ts";
import { problems } from "./next-prompt.ts";
import { gpt, Session } from "./session.ts";

const budget: PlanBudget = {
  meter: meter(defaultEstimator, gpt),
  factor: 1,
  messageTokens: 3000,
};

/** Remembers what it was told. */
class Recorded extends Session {
  readonly bodies: EventBody[] = [];

  override record(body: EventBody): void {
    this.bodies.push(body);
    super.record(body);
  }
}

interface Twins {
  readonly cut: Session;
  readonly short: Session;
  /** How many results were cut. */
  readonly cuts: number;
}

/** The session with its long results cut before each step, and one whose tools were that brief. */
function twins(made: AnySession): Twins {
  const cut = new Recorded();
  let cuts = 0;
  play(
    made,
    ({ history, view }) => {
      const plan = planCuts({ history, view, budget, reader: "read_on" });
      if (plan === undefined) return;
      cuts += plan.calls.length;
      cut.record({ type: "context.cut", data: { ...plan, reader: "read_on" } });
    },
    cut,
  );
  const short = new Session();
  for (const body of cut.bodies) short.record(briefly(body, cut));
  return { cut, short, cuts };
}

function briefly(body: EventBody, session: Session): EventBody {
  if (body.type === "context.cut") return { type: body.type, data: { calls: [], savedTokens: 0 } };
  if (body.type !== "tool.succeeded") return body;
  return { ...body, data: { ...body.data, output: shownOf(session, body.data) } };
}

function shownOf(
  { history: { items, open }, view }: Session,
  { step, callId }: { readonly step: number; readonly callId: string },
): string {
  const all: readonly HistoryItem[] = [...items, ...(open === undefined ? [] : [open])];
  for (const item of all) {
    const shown = cutItem(item, view);
    if (shown.kind !== "step" || shown.step !== step) continue;
    for (const part of shown.parts) {
      if (part.kind === "call" && part.callId === callId) return resultText(part) ?? "";
    }
  }
  throw new Error(`Call ${callId} of step ${step} is not in the history.`);
}

function estimate({ history, view, usage, calibration }: Session): ContextEstimate {
  return estimateContext({
    model: gpt,
    instructions: "",
    tools: "",
    history,
    view,
    usage,
    calibration,
  });
}

/** Everything that is planned on a session. */
function plans(session: Session): Readonly<Record<string, unknown>> {
  const { history, view } = session;
  const cache = { warm: false, read: 0.1, write: 1.25, expectedSteps: 3 };
  const options = { protectTokens: 700, minimumGain: 300 };
  const { meter, factor } = budget;
  const pruning = { history, view, meter, factor, cache, occasion: "step", options } as const;
  const how = [
    slidingWindow(),
    dropMiddle(),
    byImportance(),
    dropOldest({ keepTurns: 1 }),
    checkpoint(),
    summarize(),
  ];
  const { writer } = summarize({ keepTokens: 500 });
  return {
    prompt: JSON.stringify(promptMessages(history, view)),
    estimate: estimate(session),
    pruning: planPruning(pruning),
    compactions: how.map((one) => [one.name, one.plan(history, view, budget)]),
    requests: (["whole", "capped", "newest"] as const).map(
      (rung) => writer?.request(rung, history, view, budget)?.prompt,
    ),
  };
}

describe("a session whose long results are cut", () => {
  it("is estimated, pruned, compacted and summarised as one whose tools said no more", () => {
    let all = 0;
    fc.assert(
      fc.property(anySession, (made) => {
        const { cut, short, cuts } = twins(made);
        all += cuts;
        expect(plans(cut)).toEqual(plans(short));
        expect(problems(cut)).toEqual([]);
      }),
    );
    expect(all).toBeGreaterThan(50);
  });

  it("does not show a summariser what is left of a file's content", () => {
    const session = new Session();
    session.ask("Go.");
    session.work("iVBORw0KGgo".repeat(4000));
    const roomy = { ...budget, messageTokens: 40_000 };
    const plan = planCuts({ history: session.history, view: session.view, budget: roomy });
    if (plan === undefined) throw new Error("Nothing was cut.");
    session.record({ type: "context.cut", data: plan });
    session.start();
    session.say("Seen.");
    session.finish();
    session.end();
    session.ask("And now?");
    const { history, view } = session;
    const { writer } = summarize({ keepTokens: 20 });
    const prompt = writer?.request("whole", history, view, budget)?.prompt;
    expect(prompt).toMatch(
      /RESULT: \[\d+ characters of data\]\n\[\d+ of 44000 characters left out here/,
    );
    expect(prompt).not.toContain("iVBOR");
  });

  it("knows what a cut took from a prompt that was billed before", () => {
    const session = new Session();
    session.ask("Go.");
    session.work("The ship leaves the harbour at dawn. ".repeat(400));
    session.start();
    session.say("Read.");
    session.finish({ inputTokens: 9000, outputTokens: 10 });
    const whole = JSON.stringify(promptMessages(session.history, session.view));
    session.record({
      type: "context.cut",
      data: { calls: [{ step: 1, callId: "c0", head: 300, tail: 100 }], savedTokens: 1 },
    });
    const left = JSON.stringify(promptMessages(session.history, session.view));
    const lost = defaultEstimator.text(whole) - defaultEstimator.text(left);
    const { tokens, since } = estimate(session);
    expect(Math.abs((since?.removed ?? 0) - lost)).toBeLessThan(0.02 * lost);
    expect(tokens).toBe(9010 - (since?.removed ?? 0));
  });
});
