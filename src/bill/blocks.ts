/**
 * Splits a request into blocks, in the order in which providers compare them, and measures them: tools and
 * instructions first, then the messages. Each tool result and the media of a message get their own blocks. Pure.
 */

import type { ModelMessage } from "ai";
import { defined, type TokenUsage } from "../events/index.ts";
import { type Meter, type ModelFamily, factorPrior, modelFamily } from "../context/index.ts";
import { digestOf, type PromptEntry } from "../projections/index.ts";

export interface PartName {
  /**
   * `tool`: a tool's definition; `standing`: all definitions and the instructions, where the log has their digests
   * only; `other`: notes and what `prepareStep` added; `summarizing`: the whole prompt of a call for a summary.
   */
  readonly kind:
    | "instructions"
    | "tool"
    | "standing"
    | "message"
    | "media"
    | "reply"
    | "result"
    | "summary"
    | "other"
    | "summarizing";
  /** The position of the event that it comes from. */
  readonly position: number;
  readonly step?: number;
  readonly callId?: string;
  readonly toolName?: string;
}

export interface Block {
  /** Equal for equal content. */
  readonly key: string;
  readonly name: PartName;
  /** Estimated; 0 if its content is not known. */
  readonly tokens: number;
  /** The message that it is of, and its own part of it or its text, if it has one. */
  readonly message?: ModelMessage;
  readonly text?: ModelMessage | string;
}

interface Piece extends Pick<Block, "key" | "tokens" | "text"> {
  readonly kind: "media" | "result" | "text";
  readonly callId?: string;
  readonly toolName?: string;
}

function makePieces(message: ModelMessage, meter: Meter): readonly Piece[] {
  const { factor } = factorPrior(meter.estimator, meter.model);
  const key = digestOf(message);
  if (message.role === "tool")
    return message.content.flatMap((part) => {
      if (part.type !== "tool-result") return [];
      const one: ModelMessage = { role: "tool", content: [part] };
      const { text, media, around } = meter.result(part);
      const tokens = text * factor + media + around;
      const { toolCallId: callId, toolName } = part;
      return [{ key: digestOf(one), kind: "result" as const, tokens, callId, toolName, text: one }];
    });
  const { text, media, around } = meter.message(message);
  const said: Piece = { key, kind: "text", tokens: text * factor + around, text: message };
  if (media === 0 || message.role !== "user") return [{ ...said, tokens: said.tokens + media }];
  return [said, { key: `media ${key}`, kind: "media", tokens: media }];
}

const kinds = {
  user: "message",
  step: "reply",
  summary: "summary",
  note: "other",
  "as-text": "other",
  "cut-off-note": "other",
  prepared: "other",
} as const;

/** The step that began at a position. */
export interface StepPlace {
  readonly step: number;
  readonly turn: number;
}

/** At the end of the key of a reply without its reasoning. */
export const ALONE = " alone";

/** Whether the reasoning of an earlier reply is left out, since its turn has ended. */
function isThoughtless(
  { content }: ModelMessage,
  place: StepPlace | undefined,
  turn: number,
  { reasoning: { inTurn, afterTurn } }: ModelFamily,
): boolean {
  if (place === undefined || place.turn === turn || afterTurn === "all" || inTurn === afterTurn)
    return false;
  return Array.isArray(content) && content.some(({ type }) => type === "reasoning");
}

/** `turn`: that of the request. `steps`: by position. */
export function messagesBlocks(
  entries: readonly PromptEntry[],
  meter: Meter,
  turn: number,
  steps: ReadonlyMap<number, StepPlace>,
): readonly Block[] {
  const family = modelFamily(meter.model);
  return entries.flatMap((entry) => {
    const place = entry.origin.kind === "step" ? steps.get(entry.origin.position) : undefined;
    return messageBlocks(entry, meter, place, isThoughtless(entry.message, place, turn, family));
  });
}

interface Made extends Pick<PromptEntry["origin"], "kind" | "position"> {
  readonly isAlone: boolean;
  readonly blocks: readonly Block[];
}

const made = new WeakMap<Meter, WeakMap<ModelMessage, Made>>();

/** Made once for each message: a long session sends each of them often. */
function messageBlocks(
  { message, origin: { kind, position } }: PromptEntry,
  meter: Meter,
  place: StepPlace | undefined,
  isAlone: boolean,
): readonly Block[] {
  const ofMeter = made.get(meter) ?? new WeakMap<ModelMessage, Made>();
  made.set(meter, ofMeter);
  const known = ofMeter.get(message);
  if (known?.position === position && known.kind === kind && known.isAlone === isAlone)
    return known.blocks;
  const blocks = makePieces(message, meter).map(
    ({ kind: piece, callId, toolName, key, tokens, text }): Block => ({
      key: isAlone ? `${key}${ALONE}` : key,
      tokens,
      message,
      ...(text === undefined ? {} : { text }),
      name: {
        kind: piece === "text" ? kinds[kind] : piece,
        position,
        ...defined({ step: place?.step, callId, toolName }),
      },
    }),
  );
  ofMeter.set(message, { kind, position, isAlone, blocks });
  return blocks;
}

// The tokens of each block of a prompt. Bills are for whole prompts: what a bill has beyond the blocks of earlier
// ones is the size of the new blocks. Pure.

/** A bill has wrappings that no block has, and a small prompt has little else. */
const SLACK = 512;
const MOST_TIMES = 3;

export class BlockSizes {
  readonly #known = new Map<string, number>();
  /** The tokens of the reply of the step that began at a position. */
  readonly #replies = new Map<number, number>();

  replied(position: number, { outputTokens, reasoningTokens = 0 }: TokenUsage): void {
    this.#replies.set(position, outputTokens - reasoningTokens);
  }

  reply(position: number): number {
    return this.#replies.get(position) ?? 0;
  }

  /** The size as far as bills tell it, else the estimate. */
  of(block: Block): number {
    return this.#sure(block) ?? block.tokens;
  }

  #sure({ key, name, message }: Block): number | undefined {
    const known = this.#known.get(key);
    if (known !== undefined || name.kind !== "reply") return known;
    const hasThoughts =
      Array.isArray(message?.content) && message.content.some(({ type }) => type === "reasoning");
    const reply = hasThoughts ? undefined : this.#replies.get(name.position);
    return reply === 0 ? undefined : reply;
  }

  /** Whole tokens that sum to the bill. */
  split(blocks: readonly Block[], { inputTokens, basis }: TokenUsage): readonly number[] {
    const sure = blocks.map((block) => this.#sure(block));
    const guessed = blocks.filter((_, index) => sure[index] === undefined);
    const rest = inputTokens - sum(sure.map((size) => size ?? 0));
    const estimate = sum(guessed.map(({ tokens }) => tokens));
    // Nothing is known of it beforehand: it gets what the others leave.
    const unknown = guessed.find(({ name }) => name.kind === "standing");
    const standing = unknown === undefined ? 0 : Math.max(1, rest - estimate);
    const whole = estimate + standing;
    const isLikely =
      rest >= 0 &&
      (guessed.length > 0 || rest === 0) &&
      rest <= whole * MOST_TIMES + SLACK &&
      whole <= rest * MOST_TIMES + SLACK;
    const weights = guessed.map((block) => (block === unknown ? standing : block.tokens));
    if (!isLikely)
      return shares(
        sure.map((size, index) => size ?? blocks[index]?.tokens ?? 0),
        inputTokens,
      );
    const sizes = shares(weights, rest).values();
    const tokens = sure.map((size) => size ?? sizes.next().value ?? 0);
    if (basis === "measured")
      for (const [index, { key }] of blocks.entries()) this.#known.set(key, tokens[index] ?? 0);
    return tokens;
  }
}

/** Whole numbers in these proportions that sum to the total: those that lost most by rounding get the rest. */
function shares(weights: readonly number[], total: number): readonly number[] {
  const whole = sum(weights);
  if (whole <= 0) return weights.map((_, index) => (index === 0 ? total : 0));
  const exact = weights.map((weight) => (weight / whole) * total);
  const floors = exact.map(Math.floor);
  const order = [...exact.keys()].toSorted(
    (one, other) => lost(exact[other], floors[other]) - lost(exact[one], floors[one]),
  );
  const first = new Set(order.slice(0, total - sum(floors)));
  return floors.map((floor, index) => floor + (first.has(index) ? 1 : 0));
}

function lost(exact = 0, floor = 0): number {
  return exact - floor;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
