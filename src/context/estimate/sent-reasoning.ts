/**
 * The tokens of reasoning that a prompt has of an earlier reply, by the rule of the model's family. Pure.
 * Providers bill reasoning that no message shows, if its signature is sent back or they keep it themselves.
 */

import type { AssistantModelMessage } from "ai";
import type { TokenUsage } from "../../events/index.ts";
import {
  bindingOf,
  itemMessages,
  shownItem,
  type ContextView,
  type StepItem,
  type StepUsage,
} from "../../projections/index.ts";
import type { Meter } from "./message-size.ts";
import type { ModelFamily } from "../models/model-family.ts";
import { modelTokenizer } from "./model-tokenizer.ts";

interface Rules {
  readonly view: ContextView;
  readonly family: ModelFamily;
}

type AssistantPart = Exclude<AssistantModelMessage["content"], string>[number];

/** The most tokens that a provider puts around a reply and its calls. */
const WRAPPING = 512;

/** Output tokens of a reply, without reasoning that the next prompt does not have. */
export function outputSentBack(
  { usage, item }: { readonly usage: StepUsage; readonly item: StepItem },
  isNewTurn: boolean,
  rules: Rules,
  measure: Meter,
): number {
  const { usage: billed } = usage;
  const parts = sentParts(item, rules);
  const rest = billed.outputTokens - reasoningOf(parts, billed, rules, measure);
  const sent = rest <= WRAPPING ? rest : Math.min(rest, WRAPPING + replyBytes(item));
  return sent + reasoningIn(item, billed, isNewTurn, rules, measure);
}

/** Some gateways bill hidden reasoning without a figure of its own. No token is shorter than a byte. */
function replyBytes(item: StepItem): number {
  const reply = itemMessages(item).filter(({ role }) => role === "assistant");
  return Buffer.byteLength(JSON.stringify(reply));
}

/** Tokens of a reply's reasoning in a prompt of its turn, or of a later one. */
export function reasoningIn(
  item: StepItem,
  billed: TokenUsage,
  isNewTurn: boolean,
  rules: Rules,
  measure: Meter,
): number {
  const { inTurn, afterTurn } = rules.family.reasoning;
  const kept = isNewTurn && afterTurn !== "all" ? afterTurn : inTurn;
  const parts = sentParts(item, rules);
  const whole = (): number => reasoningOf(parts, billed, rules, measure);
  switch (kept) {
    case "none":
      return 0;
    case "text":
      return tokensOf(parts.filter(isReasoning), rules, measure);
    case "shown":
      return parts.some(isReasoning) ? whole() : 0;
    case "signed":
      return parts.some((part) => isReasoning(part) || isSigned(part)) ? whole() : 0;
    case "all":
      return bindingOf(item.model) === bindingOf(measure.model) ? whole() : 0;
  }
}

/** As billed; else what the other parts leave of the output. */
function reasoningOf(
  parts: readonly AssistantPart[],
  { reasoningTokens, outputTokens }: TokenUsage,
  rules: Rules,
  measure: Meter,
): number {
  if (reasoningTokens !== undefined || !parts.some(isReasoning)) return reasoningTokens ?? 0;
  const rest = parts.filter((part) => !isReasoning(part));
  return Math.max(0, outputTokens - tokensOf(rest, rules, measure));
}

function tokensOf(parts: AssistantPart[], { family }: Rules, measure: Meter): number {
  const { text, around } = measure.message({ role: "assistant", content: parts });
  const { factor } = modelTokenizer(measure.model);
  return Math.round(text * factor + around - family.perMessage);
}

function sentParts(item: StepItem, { view }: Rules): readonly AssistantPart[] {
  return itemMessages(shownItem(item, view)).flatMap((message) =>
    message.role === "assistant" && typeof message.content !== "string" ? message.content : [],
  );
}

function isReasoning({ type }: AssistantPart): boolean {
  return type === "reasoning" || type === "reasoning-file";
}

/** The names of hidden reasoning in a part's metadata: of Google's clients, and of OpenRouter's. */
const SIGNATURES = ["thoughtSignature", "thought_signature", "reasoning_details"];

function isSigned(part: AssistantPart): boolean {
  const options = "providerOptions" in part ? (part.providerOptions ?? {}) : {};
  return Object.values(options).some((own) => SIGNATURES.some((name) => own[name] !== undefined));
}
