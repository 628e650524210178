/** Every event of the family `context.*` in words, as it comes and as it is read again. */
import { describe, expect, it } from "vitest";
import { contextWords } from "../../src/cli/wording/context-words.ts";
import { EventLines } from "../../src/cli/wording/event-lines.ts";
import { eventSchemas, type EventBody, type SessionEvent } from "../../src/events/index.ts";

let position = 0;
function event(body: EventBody): SessionEvent {
  return { position: (position += 1), time: 0, ...body };
}

const model = { provider: "p", modelId: "m" };
const usage = { basis: "measured", inputTokens: 1203, outputTokens: 200 } as const;
const pruned: EventBody<"context.pruned"> = {
  type: "context.pruned",
  data: { calls: [{ step: 1, callId: "a" }], savedTokens: 2000.4 },
};
const covers = { from: 2, to: 40 };
const compacted: EventBody<"context.compacted"> = {
  type: "context.compacted",
  data: { strategy: "s", covers, summary: "so far", beforeTokens: 12_300, afterTokens: 4100 },
};
const started: EventBody<"step.started"> = {
  type: "step.started",
  data: {
    turn: 1,
    step: 2,
    attempt: 1,
    model,
    promptDigest: "d",
    estimate: { tokens: 3000, basis: "length" },
  },
};
const rejected = (
  data: Partial<EventBody<"context.compaction-rejected">["data"]>,
): EventBody<"context.compaction-rejected"> => ({
  type: "context.compaction-rejected",
  data: { strategy: "s", why: "not-needed", ...data },
});
const noSummary = (
  data: Partial<EventBody<"context.summary-rejected">["data"]>,
): EventBody<"context.summary-rejected"> => ({
  type: "context.summary-rejected",
  data: { strategy: "s", rung: "whole", why: "empty", ...data },
});

const cut = (data: Partial<EventBody<"context.cut">["data"]>): EventBody<"context.cut"> => ({
  type: "context.cut",
  data: { calls: [{ step: 1, callId: "a", head: 10, tail: 10 }], savedTokens: 9000, ...data },
});

const asked = { counter: "provider", model, estimatedTokens: 12_300 };

const told: readonly (readonly [EventBody, string])[] = [
  [pruned, "Left out 1 old tool result: ~2,000 tokens less."],
  [cut({}), "Cut 1 long tool result: ~9,000 tokens less."],
  [
    cut({ inputs: [{ step: 1, callId: "a", texts: 10 }] }),
    "Cut 1 long tool result and 1 long input: ~9,000 tokens less.",
  ],
  [
    cut({ calls: [], inputs: [{ step: 1, callId: "a", texts: 10 }], reader: "read_tool_output" }),
    "Cut 1 long input: ~9,000 tokens less.",
  ],
  [
    cut({ reader: "read_tool_output" }),
    "Cut 1 long tool result: ~9,000 tokens less; the model reads on by read_tool_output.",
  ],
  [
    { type: "context.counted", data: { ...asked, tokens: 11_020 } },
    "Counted by provider: 11,020 tokens, where ~12,300 were estimated.",
  ],
  [
    { type: "context.count-failed", data: { ...asked, error: { name: "E", message: "busy" } } },
    "Not counted by provider: busy. The estimate of ~12,300 tokens holds.",
  ],
  [
    { type: "context.compaction-started", data: { strategy: "s", trigger: "asked" } },
    "Compacting by s: on request.",
  ],
  [
    { type: "context.compaction-started", data: { strategy: "s", trigger: "limit" } },
    "Compacting by s: the next prompt exceeds its limit.",
  ],
  [
    { type: "context.compaction-started", data: { strategy: "s", trigger: "overflow" } },
    "Compacting by s: the prompt was too long for the provider.",
  ],
  [compacted, "Compacted by s: ~12,300 → ~4,100 tokens; positions 2 to 40 are shown as a summary."],
  [
    { ...compacted, data: { ...compacted.data, summary: "" } },
    "Compacted by s: ~12,300 → ~4,100 tokens; positions 2 to 40 are not shown.",
  ],
  [
    { ...compacted, data: { ...compacted.data, rung: "whole", model, usage } },
    "Compacted by s: ~12,300 → ~4,100 tokens; positions 2 to 40 are shown as a summary by p:m (1,203 in, 200 out).",
  ],
  [
    { ...compacted, data: { ...compacted.data, rung: "digest" } },
    "Compacted by s: ~12,300 → ~4,100 tokens; positions 2 to 40 are shown as a summary, made without a model.",
  ],
  [
    rejected({ beforeTokens: 900 }),
    "Not compacted by s: there is room without it. The prompt has ~900 tokens.",
  ],
  [rejected({ why: "nothing-to-gain" }), "Not compacted by s: it would save less than a tenth."],
  [
    rejected({ why: "failed", error: { name: "E", message: "no luck" } }),
    "Not compacted by s: the strategy failed: no luck.",
  ],
  [rejected({ why: "cancelled" }), "Not compacted by s: it was cancelled."],
  [rejected({ why: "recovered" }), "Not compacted by s: the process ended in the meantime."],
  [
    {
      type: "context.media-omitted",
      data: { before: 9, there: [{ media: 1 }], media: 2, savedBytes: 1_234_567 },
    },
    "Left out 2 files, the oldest: 1,235 KB less, as the request would be too large.",
  ],
  [
    {
      type: "context.reduced",
      data: { step: 3, rung: "without-media", to: 9, media: [{ position: 9, index: 0 }] },
    },
    "The provider refused the conversation of step 3: it is sent without 1 file.",
  ],
  [
    { type: "context.reduced", data: { step: 3, rung: "as-text", to: 9 } },
    "The provider refused the conversation of step 3: everything up to position 9 but the newest message is sent as plain text.",
  ],
  [
    { type: "context.reduced", data: { step: 3, rung: "newest-only", to: 9 } },
    "The provider refused the conversation of step 3 in every form: everything up to position 9 but the newest message is left out.",
  ],
  [noSummary({ model }), "No summary from p:m, shown everything: the reply was empty."],
  [
    noSummary({ rung: "newest", why: "failed", error: { name: "E", message: "gone" } }),
    "No summary, shown the newest part only: the call failed: gone.",
  ],
  [
    { type: "context.restored", data: { position: 57 } },
    "Undone: what was left out at position 57 is shown to the model again.",
  ],
  [
    { type: "context.overflowed", data: { step: 3 } },
    "The provider refused the prompt of step 3 as too long.",
  ],
];

describe("what became of a prompt", () => {
  it.each(told)("%j becomes a sentence", (body, sentence) => {
    expect(contextWords(event(body))).toBe(sentence);
  });

  it("exists for every event of its family, and for no other", () => {
    const family = Object.keys(eventSchemas).filter((type) => type.startsWith("context."));
    expect(new Set(told.map(([{ type }]) => type))).toEqual(new Set(family));
    expect(contextWords(event(started))).toBeUndefined();
  });

  it.each([
    ["the next step's estimate", started, "~5,000 → ~3,000 tokens"],
    ["the compaction that follows", compacted, "~14,300 → ~12,300 tokens"],
    [
      "the count that follows",
      { type: "context.counted", data: { ...asked, tokens: 11_020 } },
      "~14,300 → ~12,300 tokens",
    ],
    ["one that is not needed any more", rejected({ beforeTokens: 900 }), "~2,900 → ~900 tokens"],
  ] as const)("a pruning is told from what to what, by %s", (_, next, figures) => {
    const lines = new EventLines();
    const first = event(pruned);
    expect(lines.take(first)).toEqual([]);
    const [notice, own] = lines.take(event(next));
    expect(notice?.position).toBe(first.position);
    expect(notice?.text).toContain(figures);
    expect(own?.text).toBe(contextWords(event(next)));
    expect(lines.rest()).toEqual([]);
  });

  it("a pruning without details is shown at the end of the turn", () => {
    const lines = new EventLines();
    lines.take(event(pruned));
    const words = "Left out 1 old tool result: ~2,000 tokens less.";
    const ended = event({ type: "turn.ended", data: { turn: 1, reason: "stop" } });
    expect(lines.take(ended)[0]?.text).toBe(words);
    lines.take(event(pruned));
    expect(lines.rest()).toEqual([expect.objectContaining({ text: words })]);
  });
});
