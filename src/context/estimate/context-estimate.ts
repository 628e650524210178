/**
 * Estimates the size of the next prompt: the last billed or counted size, plus an estimate of the changes
 * since. Pure. Only new messages are measured.
 */

import type { ModelMessage } from "ai";
import type { ModelName, PromptEstimate } from "../../events/index.ts";
import {
  calibrationFactor,
  promptMessages,
  type CalibrationState,
  type ContextView,
  type EstimateError,
  type HistoryState,
  type PromptCounts,
  type UsageState,
} from "../../projections/index.ts";
import { promptChange, type PromptChange } from "./prompt-change.ts";
import { addSize, meter, noSize, type MessageSize, type Meter } from "./message-size.ts";
import { modelFamily, type ModelFamily } from "../models/model-family.ts";
import { toolsCount, toolsText } from "./tools-text.ts";
import type { ModelLimits } from "../models/model-limits.ts";
import { defaultEstimator, factorPrior, type TokenEstimator } from "./token-estimator.ts";

/** The most tokens that are reserved for the reply. */
const OUTPUT_BUFFER = 32_000;

/** All states are those at one position. */
export interface EstimateInput {
  readonly model: ModelName;
  /** The fixed parts of every prompt: instructions, and tool definitions as JSON. */
  readonly instructions: string;
  readonly tools: string;
  /** Whether the model has to call a tool. */
  readonly mustCall?: boolean;
  /** Tokens of both, if only their number is known: counted as instructions. */
  readonly standing?: number;
  readonly history: HistoryState;
  readonly view: ContextView;
  /** The messages of the prompt, if they were made already. */
  readonly messages?: readonly ModelMessage[];
  readonly usage: UsageState;
  readonly calibration: CalibrationState;
  readonly counts?: PromptCounts;
  /** A factor for estimates of the whole prompt. Default 1. */
  readonly scale?: number;
  readonly limits?: ModelLimits;
  readonly estimator?: TokenEstimator;
}

/** Size of a prompt: total, how it was determined, and its parts. */
export interface ContextEstimate {
  readonly tokens: number;
  /**
   * `measured`: billed, and nothing has changed since; `counted`: counted, and nothing has changed since;
   * `anchored`: one of these plus an estimate of the changes; `estimated`: an estimate of everything.
   */
  readonly basis: "measured" | "counted" | "anchored" | "estimated";
  /** Tokens by purpose. They add up to `tokens`, unless there is a warning. */
  readonly breakdown: {
    readonly instructions: number;
    readonly tools: number;
    readonly messages: number;
    readonly media: number;
  };
  /** The parts of an anchored figure: input + output + added − removed. */
  readonly since?: {
    /** The billed step; absent if the prompt was counted. */
    readonly step?: number;
    readonly input: number;
    readonly output: number;
    readonly added: number;
    readonly removed: number;
  };
  /** The window and the rest of it, if the window is known. */
  readonly room?: {
    readonly window: number;
    readonly outputBuffer: number;
    /** Below 0 if the prompt is too long. */
    readonly free: number;
    /** Share of the window without the buffer; above 1 if the prompt is too long. */
    readonly used: number;
  };
  /** The estimate and the bill of the last billed step. */
  readonly lastError?: EstimateError;
  /** Bytes of the prompt as UTF-8, files as base64. */
  readonly bytes: number;
  readonly warnings: readonly string[];
  /** Recorded with the step, for the calibration. */
  readonly recorded: PromptEstimate;
}

interface Fixed {
  readonly instructions: MessageSize;
  readonly tools: MessageSize;
}

/** For the newest texts only: each of many sessions may have its own instructions. */
const fixedSizes = new WeakMap<Meter, Map<string, MessageSize>>();
const MOST_FIXED = 64;

function fixedSize(
  meter: Meter,
  text: string,
  measure = (one: string): MessageSize => meter.text(one),
): MessageSize {
  const known = fixedSizes.get(meter) ?? new Map<string, MessageSize>();
  fixedSizes.set(meter, known);
  const size = known.get(text) ?? measure(text);
  known.delete(text);
  known.set(text, size);
  const [oldest] = known.keys();
  if (known.size > MOST_FIXED && oldest !== undefined) known.delete(oldest);
  return size;
}

/** The constant part of every prompt: instructions and tools, with the provider's additions to them. */
function fixedSizesOf(input: EstimateInput, meter: Meter, family: ModelFamily): Fixed {
  const { instructions, tools, standing } = input;
  if (standing !== undefined)
    return { instructions: { ...noSize, around: standing }, tools: fixedSize(meter, tools) };
  const { perPrompt, perInstructions } = family;
  const { preamble, forced = preamble, each, form } = family.tools;
  const added = (around: number): MessageSize => ({ ...noSize, around });
  const isEmpty = instructions === "";
  const texts = fixedSize(meter, tools, (json) => ({
    ...meter.text(toolsText(json, form)),
    around: each * toolsCount(json),
    bytes: Buffer.byteLength(json),
  }));
  return {
    instructions: addSize(
      fixedSize(meter, instructions),
      added(perPrompt + (isEmpty ? 0 : perInstructions)),
    ),
    tools:
      tools === "" ? noSize : addSize(texts, added(input.mustCall === true ? forced : preamble)),
  };
}

/** Measures media and bytes only. */
const outline: TokenEstimator = { name: "outline", exact: true, text: () => 0 };

function tokensOf({ text, media, around }: MessageSize, factor: number): number {
  return text * factor + media + around;
}

const recordedBasis = {
  measured: "anchored",
  counted: "counted",
  anchored: "anchored",
  estimated: "length",
} as const;

export function estimateContext(input: EstimateInput): ContextEstimate {
  const { model, history, view, usage, calibration, limits } = input;
  const estimator = input.estimator ?? defaultEstimator;
  const measure = meter(estimator, model);
  const family = modelFamily(model);
  const factor = calibrationFactor(calibration, model, factorPrior(estimator, model));
  const fixed = fixedSizesOf(input, measure, family);
  const counted = input.counts?.last;
  const change = promptChange({ history, view, usage, counted, family }, measure);
  // With a bill, text is counted in new messages only; for the others, media and bytes are enough.
  const size = promptSize(
    input.messages ?? promptMessages(history, view),
    change === undefined ? measure : meter(outline, model),
  );
  const total =
    change === undefined
      ? tokensOf([fixed.instructions, fixed.tools, size].reduce(addSize), factor) *
        (input.scale ?? 1)
      : anchored(change, factor);
  const tokens = Math.max(0, Math.round(total));
  const guessed =
    change === undefined
      ? fixed.instructions.text + fixed.tools.text + size.text
      : change.added.text;
  const basis = basisOf(change);
  return {
    tokens,
    basis,
    ...breakdownOf(tokens, fixed, size, factor),
    ...(change === undefined ? {} : { since: since(change, factor) }),
    ...windowUse(tokens, limits),
    ...(calibration.last === undefined ? {} : { lastError: calibration.last }),
    bytes: size.bytes + fixed.instructions.bytes + fixed.tools.bytes,
    recorded: {
      tokens,
      basis: recordedBasis[basis],
      guessedTokens: guessed,
      factor,
    },
  };
}

function anchored({ input, output, added, removed }: PromptChange, factor: number): number {
  return input + output + tokensOf(added, factor) - tokensOf(removed, factor);
}

function since(change: PromptChange, factor: number): NonNullable<ContextEstimate["since"]> {
  const { step, input, output } = change;
  const added = Math.round(tokensOf(change.added, factor));
  const removed = Math.round(tokensOf(change.removed, factor));
  return { ...(step === undefined ? {} : { step }), input, output, added, removed };
}

function basisOf(change: PromptChange | undefined): ContextEstimate["basis"] {
  if (change === undefined) return "estimated";
  const { added, removed, step } = change;
  if (tokensOf(added, 1) !== 0 || tokensOf(removed, 1) !== 0) return "anchored";
  return step === undefined ? "counted" : "measured";
}

/** The messages get what the other parts leave of the total. */
function breakdownOf(
  tokens: number,
  fixed: Fixed,
  messages: MessageSize,
  factor: number,
): Pick<ContextEstimate, "breakdown" | "warnings"> {
  const instructions = Math.round(tokensOf(fixed.instructions, factor));
  const tools = Math.round(tokensOf(fixed.tools, factor));
  const media = Math.round(messages.media);
  const rest = tokens - instructions - tools - media;
  return {
    breakdown: { instructions, tools, messages: Math.max(0, rest), media },
    // Four rounded figures may be off by two.
    warnings:
      rest < -2
        ? [
            `Instructions, tools and media are estimated at ${tokens - rest} tokens, more than the ${tokens} of the whole prompt.`,
          ]
        : [],
  };
}

function outputBuffer({ maxOutputTokens }: ModelLimits): number {
  return Math.min(maxOutputTokens ?? OUTPUT_BUFFER, OUTPUT_BUFFER);
}

function windowUse(tokens: number, limits: ModelLimits | undefined): Pick<ContextEstimate, "room"> {
  if (limits?.contextWindow === undefined) return {};
  const { contextWindow: window } = limits;
  const buffer = Math.min(outputBuffer(limits), Math.floor(window / 2));
  const usable = window - buffer;
  return {
    room: { window, outputBuffer: buffer, free: usable - tokens, used: tokens / usable },
  };
}

/** The same estimate of a prompt with so many tokens. */
export function resized(estimate: ContextEstimate, tokens: number): ContextEstimate {
  const { room } = estimate;
  if (room === undefined) return { ...estimate, tokens };
  const usable = room.window - room.outputBuffer;
  return { ...estimate, tokens, room: { ...room, free: usable - tokens, used: tokens / usable } };
}

interface Measured {
  readonly messages: readonly ModelMessage[];
  readonly size: MessageSize;
}

/** The newest measured prompt for each first message and meter. */
const prompts = new WeakMap<ModelMessage, WeakMap<Meter, Measured>>();

const nothing: Measured = { messages: [], size: noSize };

/** If a prompt only grew, only its new messages are measured. */
export function promptSize(messages: readonly ModelMessage[], measure: Meter): MessageSize {
  const [first] = messages;
  if (first === undefined) return noSize;
  const known = prompts.get(first) ?? new WeakMap<Meter, Measured>();
  prompts.set(first, known);
  const before = known.get(measure) ?? nothing;
  const start = isBeginning(before.messages, messages) ? before : nothing;
  let { size } = start;
  for (let index = start.messages.length; index < messages.length; index++) {
    const message = messages[index];
    if (message !== undefined) size = addSize(size, measure.message(message));
  }
  known.set(measure, { messages, size });
  return size;
}

function isBeginning(earlier: readonly ModelMessage[], later: readonly ModelMessage[]): boolean {
  if (earlier.length > later.length) return false;
  for (let index = earlier.length - 1; index >= 0; index--) {
    if (earlier[index] !== later[index]) return false;
  }
  return true;
}
