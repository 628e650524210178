/**
 * The tokens of each block of a prompt. Bills are for whole prompts: what a bill has beyond the blocks of earlier
 * ones is the size of the new blocks. Pure.
 */

import type { TokenUsage } from "../events/index.ts";
import type { Block } from "./blocks.ts";

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
export function shares(weights: readonly number[], total: number): readonly number[] {
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
