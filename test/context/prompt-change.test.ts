/** The changes of the prompt since a bill or a count: with them, its size is that of the prompt as it is now. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { promptChange, type PromptChange } from "../../src/context/estimate/prompt-change.ts";
import { lengthEstimator } from "../support/length-estimator.ts";
import {
  addSize,
  meter,
  noSize,
  type MessageSize,
} from "../../src/context/estimate/message-size.ts";
import { modelFamily, type ReasoningRule } from "../../src/context/models/model-family.ts";
import { blobReference, type EventBody, type ModelOutput } from "../../src/events/index.ts";
import { itemMessages, promptMessages, shownItem } from "../../src/projections/index.ts";
import { gpt, Session } from "./session.ts";
import { runs } from "../support/runs.ts";

const measure = meter(lengthEstimator, gpt);
const family = modelFamily(gpt);
const keptReasoning: ReasoningRule = { inTurn: "shown", afterTurn: "all" };

type Action =
  | { readonly do: "ask" | "count" | "restore"; readonly at: number }
  | { readonly do: "step"; readonly outputs: readonly number[]; readonly billed: Bill }
  | { readonly do: "prune" | "cut" | "omit" | "compact"; readonly at: number };
type Bill = "measured" | "estimated" | "zero" | "failed" | "failed-measured";

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ask" as const), at: fc.nat(9) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("step" as const),
      outputs: fc.array(fc.nat(400), { maxLength: 3 }),
      billed: fc.constantFrom<Bill>(
        "measured",
        "measured",
        "measured",
        "estimated",
        "zero",
        "failed",
        "failed-measured",
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("prune", "prune", "cut", "omit", "omit", "count", "compact", "restore"),
      at: fc.nat(99),
    }),
  },
);

/** A picture of some size, in a message or a result. */
function picture(at: number) {
  const data = blobReference(at.toString(16).padStart(64, "0"));
  const blob = { bytes: 90 + at, width: 600 + at, height: 500 };
  return { data, mediaType: "image/png", blob };
}

/** A session with the sizes of the prompts that were billed or counted. */
class Watched extends Session {
  #sent: MessageSize = noSize;
  /** The prompt that was measured last, and how. */
  anchor: { readonly size: MessageSize; readonly step?: number } | undefined;
  readonly calls: { readonly step: number; readonly callId: string }[] = [];

  get size(): MessageSize {
    const messages = promptMessages(this.history, this.view);
    return messages.map((one) => measure.message(one)).reduce(addSize, noSize);
  }

  act(next: Action): void {
    switch (next.do) {
      case "ask":
        this.ask([
          { type: "text", text: "Look at this. ".repeat(1 + next.at) },
          { type: "file", ...picture(next.at) },
        ]);
        break;
      case "step":
        this.#step(next.outputs, next.billed);
        break;
      case "count":
        this.count(4000);
        this.anchor = { size: this.size };
        break;
      case "prune":
      case "cut":
        this.#change(next.do, next.at);
        break;
      case "omit": {
        const { items } = this.history;
        const item = items[next.at % Math.max(1, items.length)];
        const last = this.view.omissions.at(-1)?.omitted.before ?? 0;
        if (item === undefined || item.position <= last) break;
        const data = { before: item.position, there: [], media: 1, savedBytes: 1 };
        this.record({ type: "context.media-omitted", data });
        break;
      }
      case "compact":
        this.#compact(next.at);
        break;
      case "restore": {
        const [change] = [...this.view.compactions, ...this.view.prunings];
        if (change === undefined) break;
        this.record({ type: "context.restored", data: { position: change.position } });
        this.anchor = undefined;
        break;
      }
    }
  }

  #step(outputs: readonly number[], billed: Bill): void {
    // Two replies in a row would have a note between them.
    if (promptMessages(this.history, this.view).at(-1)?.role !== "tool")
      this.act({ do: "ask", at: outputs.length });
    this.#sent = this.size;
    this.start();
    if (billed === "failed" || billed === "failed-measured") {
      const error = { name: "Error", message: "It broke off." };
      const basis = billed === "failed" ? "estimated" : "measured";
      const usage = { basis, inputTokens: 60, outputTokens: 9 } as const;
      this.record({ type: "step.failed", data: { step: this.step, error, usage } });
      return;
    }
    this.say(`Step ${this.step}.`);
    for (const index of outputs.keys()) this.call(`c${index}`);
    const usage =
      billed === "measured"
        ? { inputTokens: 1000 + this.step }
        : billed === "zero"
          ? { inputTokens: 0 }
          : ({ basis: "estimated" } as const);
    this.finish(usage, outputs.length > 0 ? "tool-calls" : "stop");
    for (const [index, length] of outputs.entries()) {
      const callId = `c${index}`;
      const { data, ...shot } = picture(length);
      const value: ModelOutput = {
        type: "content",
        value: [
          { type: "text", text: "word ".repeat(length) },
          { type: "file", ...shot, data: { type: "data", data } },
        ],
      };
      if (index === 0) this.answer(callId, "word ".repeat(length));
      else this.answer(callId, "", value);
      this.calls.push({ step: this.step, callId });
    }
    if (billed === "measured") this.anchor = { size: this.#sent, step: this.step };
  }

  #change(how: "prune" | "cut", at: number): void {
    const call = this.calls[at % Math.max(1, this.calls.length)];
    if (call === undefined) return;
    const body: EventBody =
      how === "prune"
        ? { type: "context.pruned", data: { calls: [call], savedTokens: 1 } }
        : {
            type: "context.cut",
            data: { calls: [{ ...call, head: 20, tail: 10 }], savedTokens: 1 },
          };
    this.record(body);
  }

  /** Replaces the oldest turns by a summary. */
  #compact(at: number): void {
    const { items } = this.history;
    const asked = items.filter(({ kind }) => kind === "user");
    const kept = asked[1 + (at % 3)];
    const from = items[0];
    const to = items.findLast((item) => kept !== undefined && item.position < kept.position);
    if (from === undefined || to === undefined) return;
    const covers = { from: from.position, to: to.position };
    const figures = { beforeTokens: 9, afterTokens: 1 };
    const data = { strategy: "s", covers, summary: "A tale.", ...figures };
    this.record({ type: "context.compacted", data });
    this.anchor = undefined;
  }

  change(more: Partial<Parameters<typeof promptChange>[0]> = {}): PromptChange | undefined {
    const { history, view, usage, counts } = this;
    const counted = counts.last;
    return promptChange({ history, view, usage, counted, family, ...more }, measure);
  }

  /** The reply of a step, as it is sent back. */
  reply(step: number): MessageSize {
    const items = [...this.history.items, ...(this.history.open ? [this.history.open] : [])];
    const item = items.find((one) => one.kind === "step" && one.step === step);
    if (item === undefined) return noSize;
    return itemMessages(shownItem(item, this.view))
      .filter(({ role }) => role === "assistant")
      .map((one) => measure.message(one))
      .reduce(addSize, noSize);
  }
}

function minus(left: MessageSize, right: MessageSize): MessageSize {
  return addSize(left, {
    text: -right.text,
    media: -right.media,
    around: -right.around,
    bytes: -right.bytes,
  });
}

describe("the changes since the last bill or count", () => {
  it("make of the size that it had the size that the prompt has now, whatever was pruned, cut or left out", () => {
    const seen = { billed: 0, counted: 0, removed: 0 };
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60, size: "max" }), (actions) => {
        const session = new Watched();
        const keepsReasoning = { family: { ...family, reasoning: keptReasoning } };
        for (const next of actions) {
          session.act(next);
          const change = session.change(keepsReasoning);
          const { anchor } = session;
          expect(change?.step).toBe(anchor?.step);
          expect(change === undefined).toBe(anchor === undefined);
          if (change === undefined || anchor === undefined) continue;
          const own = change.step === undefined ? noSize : session.reply(change.step);
          const isOpened = change.step !== undefined && change.added.around > 0;
          const opening = { ...noSize, around: isOpened ? (family.perReply ?? 0) : 0 };
          const left = minus(anchor.size, change.removed);
          const now = addSize(session.size, opening);
          expect(now).toEqual(addSize(addSize(left, change.added), own));
          expect(change.input).toBe(change.step === undefined ? 4000 : 1000 + change.step);
          seen[change.step === undefined ? "counted" : "billed"] += 1;
          if (change.removed.text > 0) seen.removed += 1;
        }
      }),
      runs(100),
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(50);
  });
});
