/**
 * The model of a recorded session: says what was said, whatever it is shown, and bills and refuses
 * prompts by what the provider's own tokenizer made of their messages.
 */

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { defaultEstimator } from "../../src/context/index.ts";
import type { ModelName } from "../../src/events/index.ts";
import { scriptedModel, type ScriptedModel, type ScriptedPart } from "../../src/models/index.ts";
import { tooLong } from "../support/billing-model.ts";
import { billedTexts, replyText, type BilledTexts } from "./billed-texts.ts";
import type { ScriptedReply, ScriptedTurn } from "./recorded-script.ts";

export interface RecordedModel extends ScriptedModel {
  /** Tokens of each prompt that was taken. */
  readonly taken: readonly number[];
  /** The same by the tokenizer of OpenAI's models (o200k), words alone. */
  readonly o200k: readonly number[];
  /** Tokens of each prompt that was refused, as it had more than the window. */
  readonly refused: readonly number[];
  /** Messages of all prompts whose tokens a provider billed, and all of them. */
  readonly counted: { readonly billed: number; readonly all: number };
}

/** Tokens around a message that nobody billed. */
const AROUND = 8;
/** Of a result that is shown cut: more than its share, as a tokenizer finds it. */
const CUT = 1.1;

export function recordedModel(
  turns: readonly ScriptedTurn[],
  name: ModelName,
  window: number,
): RecordedModel {
  const replies = turns.flatMap((turn) => turn.replies);
  const counter = new PromptCounter(turns);
  const taken: number[] = [];
  const refused: number[] = [];
  const o200k: number[] = [];
  const inner = scriptedModel((options) => {
    const input = counter.tokens(options);
    if (input > window) {
      refused.push(input);
      return { failure: tooLong(input, window) };
    }
    o200k.push(counter.o200k(options));
    const reply = replies[taken.push(input) - 1];
    if (reply === undefined) return "That is all.";
    const output = Math.max(1, Math.round(counter.reply(reply)));
    const thought = Math.round(defaultEstimator.text(reply.reasoning));
    return {
      parts: partsOf(reply),
      usage: {
        inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: output + thought, text: output, reasoning: thought },
      },
    };
  });
  return { ...inner, ...name, taken, o200k, refused, counted: counter.counted };
}

function partsOf({ text, reasoning, calls }: ScriptedReply): readonly ScriptedPart[] {
  return [
    ...(reasoning === "" ? [] : [{ type: "reasoning" as const, deltas: [reasoning] }]),
    ...(text === "" ? [] : [{ type: "text" as const, deltas: [text] }]),
    ...calls.map(({ id, name, input }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: name,
      input,
    })),
  ];
}

function wordsOf({ content }: LanguageModelV4Message): readonly string[] {
  if (typeof content === "string") return [content];
  return content.map((part) => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return part.text;
      case "tool-call":
        return `${part.toolName} ${JSON.stringify(part.input)}`;
      case "tool-result":
        return shownText(part);
      default:
        return "";
    }
  });
}

/** What a call brought, as it is shown. */
function shownText({ output }: LanguageModelV4ToolResultPart): string {
  return "value" in output && typeof output.value === "string"
    ? output.value
    : JSON.stringify(output);
}

class PromptCounter {
  readonly counted: { billed: number; all: number } = { billed: 0, all: 0 };
  readonly #billed: BilledTexts;
  /** What calls brought, whole. */
  readonly #results: ReadonlyMap<string, string>;
  /** What was tokenized, once each. */
  readonly #tokens = new Map<string, number>();
  /** What nobody billed, counted once. */
  readonly #guessed = new Map<string, number>();

  constructor(turns: readonly ScriptedTurn[]) {
    this.#billed = billedTexts(turns);
    const calls = turns.flatMap(({ replies }) => replies.flatMap((reply) => reply.calls));
    this.#results = new Map(calls.map(({ id, output }) => [id, output]));
  }

  /** What the tokenizer itself makes of all words of a prompt, results as they are shown. */
  o200k({ prompt, tools = [] }: LanguageModelV4CallOptions): number {
    const texts = [JSON.stringify(tools), ...prompt.flatMap(wordsOf)];
    return texts.reduce((sum, text) => sum + this.#tokenized(text), 0);
  }

  #tokenized(text: string): number {
    const known = this.#tokens.get(text) ?? countTokens(text);
    this.#tokens.set(text, known);
    return known;
  }

  tokens({ prompt, tools = [] }: LanguageModelV4CallOptions): number {
    const fixed = tools.length === 0 ? 0 : this.#text(JSON.stringify(tools));
    return Math.round(prompt.reduce((sum, message) => sum + this.#message(message), fixed));
  }

  reply(reply: ScriptedReply): number {
    return this.#text(replyText(reply));
  }

  #message(message: LanguageModelV4Message): number {
    switch (message.role) {
      case "system":
        return this.#text(message.content);
      case "user":
        return this.#text(
          message.content.map((part) => (part.type === "text" ? part.text : "")).join("\n"),
        );
      case "assistant": {
        const said = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
        const thought = message.content.flatMap((part) =>
          part.type === "reasoning" ? [part.text] : [],
        );
        const calls = message.content.flatMap((part) =>
          part.type === "tool-call" ? [{ name: part.toolName, input: part.input }] : [],
        );
        const words = replyText({ text: said.join(""), calls });
        return this.#text(words) + (thought.length === 0 ? 0 : this.#guess(thought.join("\n")));
      }
      case "tool":
        return message.content.reduce(
          (sum, part) => sum + (part.type === "tool-result" ? this.#result(part) : 0),
          0,
        );
    }
  }

  #result(result: LanguageModelV4ToolResultPart): number {
    const shown = shownText(result);
    const whole = this.#results.get(result.toolCallId);
    const billed = whole === undefined ? undefined : this.#billed.tokens.get(whole);
    if (whole === undefined || billed === undefined || shown === whole) return this.#text(shown);
    this.counted.all += 1;
    // Cut, or no more than a placeholder.
    return (
      AROUND +
      Math.max(
        this.#guess(shown),
        (CUT * billed * Math.min(shown.length, whole.length)) / Math.max(1, whole.length),
      )
    );
  }

  #text(text: string): number {
    this.counted.all += 1;
    const billed = this.#billed.tokens.get(text);
    if (billed === undefined) return AROUND + this.#guess(text);
    this.counted.billed += 1;
    return billed;
  }

  #guess(text: string): number {
    const known = this.#guessed.get(text) ?? this.#billed.factor * defaultEstimator.text(text);
    this.#guessed.set(text, known);
    return known;
  }
}
