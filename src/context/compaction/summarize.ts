/**
 * A compaction by a model, which writes a summary under fixed headings from the last summary and the messages
 * since. The newest messages and the current request stay as they are.
 */

import { check, amount, optionsOf, thing } from "../../validation/index.ts";
import type { SummaryRung, ModelOutput } from "../../events/index.ts";
import {
  type ContextView,
  type HistoryState,
  cutItem,
  type HistoryItem,
  type HistoryPart,
} from "../../projections/index.ts";
import type {
  CompactionPlan,
  CompactionStrategy,
  PlanBudget,
  SummaryRequest,
} from "./compaction-strategy.ts";
import { covering, cuttable, keptWithin, tokensFrom, type ShownUnit } from "./shown-units.ts";
import { originalRequests, requestText, requestTexts } from "./request-text.ts";
import { runningRequest } from "./running-request.ts";
import {
  knownFacts,
  HEADINGS,
  replyProblem,
  summaryText,
  writtenText,
  writerInstructions,
  writerPrompt,
} from "./summary-form.ts";
import { textTokens } from "../estimate/text-tokens.ts";
import type { LanguageModel } from "ai";

export interface SummarizeOptions {
  /** The model that writes the summary, for instance a cheaper one. Default: the agent's model. */
  readonly model?: LanguageModel;
  /** Tokens of the newest messages to keep. Default: a quarter of the messages' budget, or 20,000. */
  readonly keepTokens?: number;
  /** The most tokens of the summary. Default: an eighth of the messages' budget, from 400 to 4,000. */
  readonly maxTokens?: number;
}

const KEPT_TOKENS = 20_000;
const SUMMARY_TOKENS = { least: 400, most: 4000 };
const DIGEST_CHARACTERS = 1500;

interface Covered {
  readonly plan: Omit<CompactionPlan, "summary">;
  readonly units: readonly ShownUnit[];
  readonly previous: string;
  readonly facts: string;
  readonly requests: readonly string[];
}

const schema = optionsOf<SummarizeOptions>(
  {
    model: thing(
      "a model of the AI SDK, or the name of one",
      (value) => typeof value === "string" || (typeof value === "object" && value !== null),
    ),
    keepTokens: amount,
    maxTokens: amount,
  },
  {},
);

/**
 * A model summarizes old messages. If the summary is not usable, the model tries again with long parts cut, then
 * with only the newest part. A digest without a model is the last resort.
 * @example
 * const how = summarize({ keepTokens: 10_000, model: cheaper });
 */
export function summarize(options: SummarizeOptions = {}): CompactionStrategy {
  check(schema, options, "summarize", { name: "options" });
  const { model } = options;
  return {
    name: "summarize",
    plan(history, view, budget) {
      const covered = coveredBy(options, history, view, budget);
      return covered === undefined ? undefined : { ...covered.plan, summary: digest(covered) };
    },
    writer: {
      ...(model === undefined ? {} : { model }),
      request(rung, history, view, budget, mostTokens) {
        const covered = coveredBy(options, history, view, budget);
        if (covered === undefined) return undefined;
        return requestOf(covered, rung, view, maxTokensOf(options, budget), mostTokens);
      },
    },
  };
}

function maxTokensOf({ maxTokens }: SummarizeOptions, { messageTokens }: PlanBudget): number {
  const { least, most } = SUMMARY_TOKENS;
  return maxTokens ?? Math.min(most, Math.max(least, Math.floor((messageTokens ?? Infinity) / 8)));
}

function coveredBy(
  { keepTokens }: SummarizeOptions,
  history: HistoryState,
  view: ContextView,
  budget: PlanBudget | undefined,
): Covered | undefined {
  const prompt = cuttable(history, view, budget);
  const messageTokens = budget?.messageTokens;
  const usual = messageTokens === undefined ? KEPT_TOKENS : messageTokens / 4;
  // At most half of a short prompt is kept.
  const most = Math.min(keepTokens ?? usual, tokensFrom(prompt, 0) / 2);
  const first = keptWithin(prompt, most);
  const plan = covering(prompt, 0, first, "");
  if (plan === undefined) return undefined;
  const { covers } = plan;
  const before = history.items.filter(({ position }) => position <= covers.to);
  const running = runningRequest(history.items).filter(({ position }) => position <= covers.to);
  return {
    plan: { covers },
    units: prompt.units.slice(0, first),
    previous: prompt.units
      .slice(0, first)
      .flatMap(({ summary }) => (summary === undefined ? [] : [writtenText(summary)]))
      .join("\n\n"),
    facts: knownFacts(before),
    requests: [...requestTexts(running, history.turn, budget).values()],
  };
}

function requestOf(
  covered: Covered,
  rung: SummaryRung,
  view: ContextView,
  maxTokens: number,
  mostTokens: number | undefined,
): SummaryRequest {
  const instructions = writerInstructions(maxTokens);
  const pieces = covered.units
    .filter(({ summary }) => summary === undefined)
    .map((unit) => ({ kind: unit.kind, text: unitText(unit, view, rung !== "whole") }))
    .filter(({ text }) => text !== "");
  const shown = rung === "newest" ? newestOf(pieces, mostTokens) : pieces;
  const leftOut = pieces.length - shown.length;
  const transcript = shown.map(({ text }) => text).join("\n\n");
  const requests = covered.requests
    .filter((text) => !transcript.includes(text))
    .map((text) => (rung === "whole" ? text : cut(text)));
  const prompt = writerPrompt({ previous: covered.previous, transcript, leftOut, requests });
  return {
    ...covered.plan,
    instructions,
    prompt,
    tokens: Math.ceil(textTokens(instructions) + textTokens(prompt)),
    maxTokens,
    read(reply) {
      const problem = replyProblem(reply, textTokens(reply.text), maxTokens);
      if (problem !== undefined) return { problem };
      return { summary: summaryText(reply.text, covered.facts, covered.requests) };
    },
  };
}

interface Piece {
  readonly kind: ShownUnit["kind"];
  readonly text: string;
}

/** The share of a short request that the words of users may have, before the other newest pieces. */
const USER_SHARE = 0.5;

/** Half of the tokens: the newest words of users, which no tool can bring back, then the newest pieces. */
function newestOf(pieces: readonly Piece[], mostTokens: number | undefined): readonly Piece[] {
  const sized = pieces.map((piece) => ({ piece, tokens: textTokens(piece.text) }));
  const most = (mostTokens ?? sized.reduce((sum, { tokens }) => sum + tokens, 0)) / 2;
  const kept = new Set<Piece>();
  let left = most;
  for (const { piece, tokens } of sized.toReversed()) {
    if (piece.kind !== "user" || tokens > left - most * (1 - USER_SHARE)) continue;
    kept.add(piece);
    left -= tokens;
  }
  for (const { piece, tokens } of sized.toReversed()) {
    if (kept.has(piece)) continue;
    if (tokens > left) break;
    kept.add(piece);
    left -= tokens;
  }
  return pieces.filter((piece) => kept.has(piece));
}

/** A summary under the same headings that needs no model. */
function digest({ previous, units, facts, requests }: Covered): string {
  const items = units.flatMap((unit) => unit.items);
  if (previous !== "") {
    const since = `The assistant's last words: ${cut(lastText(items))}`;
    return summaryText(previous, [facts, since].join("\n"), requests);
  }
  const original = originalRequests(items).map(requestText).join("\n");
  const words: Readonly<Record<(typeof HEADINGS)[number], string>> = {
    Goal: original === "" ? "not known" : cut(original),
    "Instructions still in force": "those of the requests",
    Decisions: "not summarised",
    "State of the work": cut(lastText(items)),
    "Files and facts": "see below",
    "Next step": "go on with the request",
  };
  const text = HEADINGS.map((heading) => `## ${heading}\n${words[heading]}`).join("\n\n");
  return summaryText(text, facts, requests);
}

function lastText(items: ShownUnit["items"]): string {
  const texts = items.flatMap((item) =>
    item.kind === "step"
      ? item.parts.flatMap((part) =>
          part.kind === "text" && part.text.trim() !== "" ? [part.text] : [],
        )
      : [],
  );
  return texts.at(-1) ?? "not known";
}

function cut(text: string): string {
  if (text.length <= DIGEST_CHARACTERS) return text;
  return `${text.slice(0, DIGEST_CHARACTERS)} [${text.length - DIGEST_CHARACTERS} characters left out]`;
}

// The conversation as plain text for the summarising model: no media, no tool protocol. Pure.

/** The most characters of a part, if parts are cut: three quarters from its beginning, the rest from its end. */
const CAPPED = 2000;

/** Pruned results are left out; cut results are cut here too. */
export function unitText({ items }: ShownUnit, view: ContextView, capped: boolean): string {
  const pruned = new Set(
    view.prunings.flatMap(({ calls }) => calls.map(({ step, callId }) => `${step} ${callId}`)),
  );
  const cut = (text: string): string => (capped ? cutPart(text) : text);
  return items
    .map((item) => cutItem(item, view))
    .flatMap((item) => itemLines(item, (step, callId) => pruned.has(`${step} ${callId}`), cut))
    .join("\n");
}

function cutPart(text: string): string {
  if (text.length <= CAPPED) return text;
  const head = Math.floor(CAPPED * 0.75);
  const tail = CAPPED - head;
  return `${text.slice(0, head)}\n[${text.length - CAPPED} characters left out]\n${text.slice(-tail)}`;
}

function itemLines(
  item: HistoryItem,
  isPruned: (step: number, callId: string) => boolean,
  cut: (text: string) => string,
): readonly string[] {
  switch (item.kind) {
    case "user":
      return [`USER: ${cut(requestText(item))}`];
    case "note":
    case "turn-end":
      return [];
    case "step":
      return item.parts.flatMap((part) => {
        const pruned = part.kind === "call" && isPruned(item.step, part.callId);
        return partLines(part, pruned, cut);
      });
  }
}

function partLines(
  part: HistoryPart,
  pruned: boolean,
  cut: (text: string) => string,
): readonly string[] {
  switch (part.kind) {
    case "text":
      return part.text.trim() === "" ? [] : [`ASSISTANT: ${cut(part.text)}`];
    case "call":
      return [
        `CALL of ${part.toolName}: ${cut(JSON.stringify(part.input))}`,
        `RESULT: ${pruned ? "[cleared]" : cut(outcomeText(part.outcome))}`,
      ];
    case "provider-call":
      return [`CALL of ${part.toolName}: ${cut(JSON.stringify(part.input))}`];
    case "provider-result":
      return [`RESULT of ${part.toolName}: ${cut(withoutMedia(part.output))}`];
    case "file":
      return [`ASSISTANT: [file: ${part.mediaType}]`];
    case "reasoning":
    case "reasoning-file":
    case "custom":
    case "source":
    case "error":
      return [];
  }
}

function outcomeText(outcome: Extract<HistoryPart, { readonly kind: "call" }>["outcome"]): string {
  switch (outcome.status) {
    case "succeeded":
      return withoutMedia(
        outcome.modelOutput === undefined ? outcome.output : outputValue(outcome.modelOutput),
      );
    case "failed":
      return `failed: ${outcome.error.message}`;
    case "denied":
      return `denied${outcome.reason === undefined ? "" : `: ${outcome.reason}`}`;
    default:
      return outcome.status;
  }
}

function outputValue(output: ModelOutput): unknown {
  return "value" in output ? output.value : output;
}

/** Longer text without a space counts as the content of a file. */
const LONGEST_WORD = 1000;
/** The same within other text: the rest of a file's content that was cut. */
const DATA = /[\w+/=-]{1001,}/g;

/** The length replaces text that looks like a file's content. */
function withoutMedia(value: unknown): string {
  if (typeof value === "string") return strip(value);
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "string" ? strip(inner) : inner,
  );
}

function strip(text: string): string {
  return text.length > LONGEST_WORD && !/\s/.test(text)
    ? `[${text.length} characters of data]`
    : text.replaceAll(DATA, ({ length }) => `[${length} characters of data]`);
}
