/**
 * Which old tool results the model need not see any more. Pure: proposes, and the runtime records.
 * Weighs what is saved against what the provider's cache would lose (docs/decisions/0011).
 */

import type { z } from "zod";
import { amount, check, list, optionsOf } from "../validation/index.ts";
import {
  itemMessages,
  PRUNED_PLACEHOLDER,
  sightedItem,
  type CallPart,
  type ContextView,
  type HistoryState,
} from "../projections/index.ts";
import { type MessageSize, type Meter, addSize, noSize } from "./message-size.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { shownUnits, type ShownUnit } from "./shown-units.ts";

/** Which old tool results give way to a placeholder, and when that is worth it. */
export interface PruneOptions {
  /** Tokens of tool results, the newest ones, that stay. Default 40,000. */
  readonly protectTokens?: number;
  /** Tokens that must be saved for it to be done at all. Default 20,000. */
  readonly minimumGain?: number;
  /** Names of tools whose results are never pruned. */
  readonly keepTools?: readonly string[];
}

/** What {@link planPruning} looks at. */
export interface PruningInput {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly meter: Meter;
  /** The model's factor (`calibrationFactor`). */
  readonly factor: number;
  readonly cache: PromptCache;
  /** With a compaction the cache is lost in any case. */
  readonly occasion: "step" | "compaction";
  readonly options?: PruneOptions;
}

/** The calls whose results give way to a placeholder, as `context.pruned` has them. */
export interface PruningPlan {
  readonly calls: readonly { readonly step: number; readonly callId: string }[];
  readonly savedTokens: number;
  /** Why it is worth it: the cache is cold or lost in any case, or the gain pays for the miss. */
  readonly because: "cold" | "compaction" | "pays";
}

/** What holds where the options say nothing; the numbers are DESIGN's. */
export const PRUNE_DEFAULTS: Required<Pick<PruneOptions, "protectTokens" | "minimumGain">> = {
  protectTokens: 40_000,
  minimumGain: 20_000,
};

/** Tokens that a single result must lose: one that is hardly longer than the placeholder stays. */
const LEAST_GAIN = 20;

interface Candidate {
  readonly step: number;
  readonly callId: string;
  readonly gain: number;
  /** Tokens of everything that comes after it in the prompt. */
  readonly after: number;
}

export const pruneSchema: z.ZodType = optionsOf<PruneOptions>(
  { protectTokens: amount, minimumGain: amount, keepTools: list },
  {},
);

/** What to prune before the next step, or undefined where it is not worth it. */
export function planPruning(input: PruningInput): PruningPlan | undefined {
  const { options = {} } = input;
  check(pruneSchema, options, "planPruning", { name: "options" });
  const { minimumGain = PRUNE_DEFAULTS.minimumGain } = options;
  const found = candidates(input);
  const because =
    input.occasion === "compaction" ? "compaction" : input.cache.warm ? "pays" : "cold";
  const chosen = because === "pays" ? worthwhile(found, minimumGain, input.cache) : found;
  const savedTokens = Math.round(sumOfGains(chosen));
  if (chosen.length === 0 || savedTokens < minimumGain) return undefined;
  return {
    calls: chosen.map(({ step, callId }) => ({ step, callId })),
    savedTokens,
    because,
  };
}

function sumOfGains(chosen: readonly Candidate[]): number {
  return chosen.reduce((sum, { gain }) => sum + gain, 0);
}

/** Newest first: what is old enough, still shown in full, and not of the latest turn. */
function candidates({ history, view, meter, factor, options }: PruningInput): readonly Candidate[] {
  const { protectTokens = PRUNE_DEFAULTS.protectTokens, keepTools = [] } = options ?? {};
  const kept = new Set(keepTools);
  const pruned = new Set(
    view.prunings.flatMap(({ calls }) => calls.map(({ step, callId }) => `${step} ${callId}`)),
  );
  const tokens = ({ text, media, around }: MessageSize): number => text * factor + media + around;
  const placeholder = tokens(meter.text(PRUNED_PLACEHOLDER));
  const found: Candidate[] = [];
  let results = 0;
  const open = history.open === undefined ? [] : itemMessages(sightedItem(history.open, view));
  let after = tokens(sizeOf(open, meter));
  for (const unit of shownUnits(history, view).toReversed()) {
    // What was summarised is gone already, and what lies before it was looked at when it was.
    if (unit.kind === "summary") break;
    for (const { call, step, size } of resultsOf(unit, view, meter).toReversed()) {
      // What is around a result stays.
      const gain = tokens({ ...size, around: 0 }) - placeholder;
      if (pruned.has(`${step} ${call.callId}`)) {
        after += placeholder + size.around;
        continue;
      }
      // A result of which the newest tokens have a part is protected as a whole.
      const isOld = results >= protectTokens && unit.turn < history.turn;
      if (isOld && gain >= LEAST_GAIN && !kept.has(call.toolName)) {
        found.push({ step, callId: call.callId, gain, after });
      }
      results += tokens(size);
      after += tokens(size);
    }
    after += tokens(wordsOf(unit, meter));
  }
  return found;
}

interface Result {
  readonly call: CallPart;
  readonly step: number;
  readonly size: MessageSize;
}

function sizeOf(messages: ReturnType<typeof itemMessages>, meter: Meter): MessageSize {
  return messages.map((message) => meter.message(message)).reduce(addSize, noSize);
}

/** The results that a prune could take: those of calls that succeeded, as far as they are shown. */
function resultsOf({ items }: ShownUnit, view: ContextView, meter: Meter): readonly Result[] {
  return items.flatMap((whole) => {
    const item = sightedItem(whole, view);
    if (item.kind !== "step") return [];
    const sizes = new Map(
      itemMessages(item).flatMap((message) =>
        message.role === "tool"
          ? message.content.flatMap((part) =>
              part.type === "tool-result" ? [[part.toolCallId, meter.result(part)] as const] : [],
            )
          : [],
      ),
    );
    return item.parts.flatMap((part) => {
      if (part.kind !== "call" || part.outcome.status !== "succeeded") return [];
      const size = sizes.get(part.callId);
      return size === undefined ? [] : [{ call: part, step: item.step, size }];
    });
  });
}

/** Everything of a piece that is not a tool result. */
function wordsOf({ items }: ShownUnit, meter: Meter): MessageSize {
  const messages = items.flatMap((item) => itemMessages(item));
  return sizeOf(
    messages.filter(({ role }) => role !== "tool"),
    meter,
  );
}

/**
 * With a warm cache: how far back it pays to go. Everything behind the oldest result that is pruned
 * is written to the cache again, once; every token that is gone is not read again, in each step
 * until the cache grows cold by itself. The best of all ends, or nothing.
 */
function worthwhile(
  found: readonly Candidate[],
  minimumGain: number,
  { read, write, expectedSteps }: PromptCache,
): readonly Candidate[] {
  let gain = 0;
  let best = { net: 0, count: 0 };
  for (const [index, candidate] of found.entries()) {
    // `after` counts the newer candidates, whose results are gone by then.
    const behind = candidate.after - gain;
    gain += candidate.gain;
    const net = expectedSteps * read * gain - Math.max(0, write - read) * behind;
    if (gain >= minimumGain && net > best.net) best = { net, count: index + 1 };
  }
  return found.slice(0, best.count);
}
