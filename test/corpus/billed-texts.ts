/**
 * What the real tokenizers of providers made of the messages of a recorded session. A bill is for a
 * whole prompt; what one has beyond the bill before it, and beyond the reply to that, is what was
 * said in between, to the token. So no tokenizer is needed to count what a provider would.
 */

import { defaultEstimator } from "../../src/context/index.ts";
import type { ScriptedReply, ScriptedTurn } from "./recorded-script.ts";

/** Tokens by text: the text is the form of a message in a prompt. */
export interface BilledTexts {
  readonly tokens: ReadonlyMap<string, number>;
  /** Tokens that were billed for one of our estimator's. */
  readonly factor: number;
  /** How many texts a bill is known of. */
  readonly known: number;
}

/** The messages between two bills. */
interface Stretch {
  readonly texts: readonly string[];
  readonly tokens: number;
}

/** Less or more for one of our estimator's tokens is no count of these words: something is not recorded. */
const PLAUSIBLE = { least: 0.4, most: 3 };
/** A message that nobody billed is taken to have more than it is likely to. */
const CAUTION = 1.1;

/** What is counted of a reply in later prompts: its words and its calls. */
export function replyText({
  text,
  calls,
}: {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
}): string {
  return [text, ...calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`)].join("\n");
}

export function billedTexts(turns: readonly ScriptedTurn[]): BilledTexts {
  const stretches = stretchesOf(turns).filter(isPlausible);
  const tokens = new Map<string, number>();
  for (const stretch of stretches) {
    const guesses = stretch.texts.map((text) => 4 + defaultEstimator.text(text));
    const guessed = guesses.reduce((sum, one) => sum + one, 0);
    for (const [index, text] of stretch.texts.entries()) {
      const share = (stretch.tokens * (guesses[index] ?? 0)) / guessed;
      tokens.set(text, Math.max(share, tokens.get(text) ?? 0));
    }
  }
  const billed = stretches.reduce((sum, one) => sum + one.tokens, 0);
  const guessed = stretches.reduce((sum, { texts }) => sum + guessOf(texts), 0);
  return { tokens, factor: (CAUTION * billed) / guessed, known: tokens.size };
}

function guessOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + 4 + defaultEstimator.text(text), 0);
}

function isPlausible({ texts, tokens }: Stretch): boolean {
  const share = tokens / guessOf(texts);
  return texts.length > 0 && share >= PLAUSIBLE.least && share <= PLAUSIBLE.most;
}

function stretchesOf(turns: readonly ScriptedTurn[]): readonly Stretch[] {
  const stretches: Stretch[] = [];
  let before: ScriptedReply["usage"];
  let between: string[] = [];
  for (const { said, replies } of turns) {
    between.push(said);
    for (const reply of replies) {
      const { usage, reasoning, calls, steer } = reply;
      if (usage !== undefined) {
        if (before !== undefined) {
          stretches.push({ texts: between, tokens: usage.input - before.input - before.output });
        }
        before = usage;
        between = [];
        // Reasoning is billed with the words, and not all of it is sent back.
        if (reasoning === "") stretches.push({ texts: [replyText(reply)], tokens: usage.output });
      } else {
        between.push(replyText(reply));
      }
      between.push(...calls.map(({ output }) => output), ...(steer === undefined ? [] : [steer]));
    }
  }
  return stretches;
}
