/**
 * The changes of the prompt since the last billed or counted one, the anchor of an estimate. None before the
 * first bill, for another model, or after a compaction or restore. Pure.
 */

import type { ModelMessage, AssistantModelMessage } from "ai";
import {
  itemMessages,
  messagesSince,
  modelKey,
  omittedIn,
  shownItem,
  type ContextView,
  type HistoryItem,
  type HistoryState,
  type PromptCount,
  type StepItem,
  type StepUsage,
  type UsageState,
  bindingOf,
} from "../../projections/index.ts";
import { addSize, noSize, type MessageSize, type Meter } from "./message-size.ts";
import type { ModelFamily } from "../models/model-family.ts";
import type { TokenUsage } from "../../events/index.ts";
import { modelTokenizer } from "./token-estimator.ts";

export interface PromptChange {
  /** The billed step; absent if the prompt was counted. */
  readonly step?: number;
  readonly input: number;
  /** The tokens of its output that the next prompt contains. */
  readonly output: number;
  readonly added: MessageSize;
  readonly removed: MessageSize;
}

interface States {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly usage: UsageState;
  readonly counted: PromptCount | undefined;
  readonly family: ModelFamily;
}

interface Anchor {
  /** The prompt contains the items before this position. */
  readonly position: number;
  readonly turn: number;
  /** The first step that the prompt does not contain. */
  readonly step: number;
  readonly input: number;
  readonly billed?: { readonly usage: StepUsage; readonly item: StepItem };
}

export function promptChange(states: States, measure: Meter): PromptChange | undefined {
  const { history, view, family } = states;
  const bill = billAnchor(states, measure);
  const count = countAnchor(states, measure);
  const anchor = (count?.position ?? 0) > (bill?.position ?? 0) ? count : bill;
  if (anchor === undefined || view.changed > anchor.position) return undefined;
  const { input, billed } = anchor;
  const added = messagesSince(history, view, anchor.position);
  const isNewTurn = added.some(({ role }) => role === "user");
  // The bill has the opening of its own reply; the next prompt has another one.
  const opening = { ...noSize, around: family.perReply };
  return {
    ...(billed === undefined ? {} : { step: billed.usage.step }),
    input,
    output: billed === undefined ? 0 : outputSentBack(billed, isNewTurn, states, measure),
    added: added
      .map((message) => measure.message(message))
      .reduce(addSize, billed === undefined || added.length === 0 ? noSize : opening),
    removed: removedSince(states, anchor, isNewTurn, measure),
  };
}

function billAnchor({ history, usage }: States, measure: Meter): Anchor | undefined {
  const found = lastBilled(history, usage);
  if (found === undefined || modelKey(found.usage.model) !== modelKey(measure.model))
    return undefined;
  const { position, turn, step } = found.item;
  return { position, turn, step, input: found.usage.usage.inputTokens, billed: found };
}

/** The last billed step of the active branch that finished: a failed one has no reply beside its bill. */
function lastBilled({ items, open }: HistoryState, { steps }: UsageState): Anchor["billed"] {
  let index = open === undefined ? items.length - 1 : items.length;
  for (let last = steps.length - 1; last >= 0; last--) {
    const usage = steps[last];
    if (usage?.usage.basis !== "measured" || usage.usage.inputTokens === 0) continue;
    for (; index >= 0; index--) {
      const item = items[index] ?? open;
      if (item?.kind !== "step" || item.step > usage.step) continue;
      if (item.step === usage.step && item.status === "finished") return { usage, item };
      break;
    }
  }
  return undefined;
}

function countAnchor({ counted }: States, measure: Meter): Anchor | undefined {
  if (counted === undefined || modelKey(counted.model) !== modelKey(measure.model))
    return undefined;
  const { position, turn, step, tokens } = counted;
  return { position, turn, step: step + 1, input: tokens };
}

function stepItem({ items, open }: HistoryState, step: number): StepItem | undefined {
  if (open?.step === step) return open;
  const found = items.findLast((item) => item.kind === "step" && item.step === step);
  return found?.kind === "step" ? found : undefined;
}

function removedSince(
  states: States,
  anchor: Anchor,
  isNewTurn: boolean,
  measure: Meter,
): MessageSize {
  const { history, view, usage, family } = states;
  const left = lostSince(history, view, anchor, measure);
  const { inTurn, afterTurn } = family.reasoning;
  if (!isNewTurn || inTurn === afterTurn || afterTurn === "all") return left;
  const dropped = usage.steps
    .filter(({ step, turn }) => turn === anchor.turn && step < anchor.step)
    .reduce((sum, { step, usage: billed }) => {
      const item = stepItem(history, step);
      if (item === undefined) return sum;
      const there = reasoningIn(item, billed, false, states, measure);
      return sum + there - reasoningIn(item, billed, true, states, measure);
    }, 0);
  return addSize(left, { ...noSize, around: dropped });
}

/** The size that earlier messages lost since the anchor: by pruned or cut results and omitted media. */
function lostSince(
  history: HistoryState,
  view: ContextView,
  anchor: Anchor,
  measure: Meter,
): MessageSize {
  const isOld = ({ position }: { readonly position: number }): boolean =>
    position < anchor.position;
  const prunings = view.prunings.filter(isOld);
  const cuts = view.cuts.filter(isOld);
  const omissions = view.omissions.filter(isOld);
  const newCuts = view.cuts.slice(cuts.length);
  const cutInputs = newCuts.flatMap(({ inputs = [] }) => inputs).map(({ step }) => step);
  const steps = new Set([
    ...[...view.prunings.slice(prunings.length), ...newCuts].flatMap(({ calls }) =>
      calls.map(({ step }) => step),
    ),
    ...cutInputs,
  ]);
  const then = { ...view, prunings, cuts, omissions };
  const affected = [...steps]
    .filter((step) => step < anchor.step)
    .flatMap((step) => stepItem(history, step) ?? []);
  const changed = new Set([...affected, ...mediaLostSince(history, view, then, anchor)]);
  const isCovered = ({ position }: HistoryItem): boolean =>
    view.compactions.some(({ from, to }) => from <= position && position <= to);
  const lost = (item: HistoryItem, isMeant: (message: ModelMessage) => boolean): MessageSize => {
    const [whole, left] = [then, view].map((one) =>
      itemMessages(shownItem(item, one)).filter(isMeant),
    );
    return difference(changedSize(whole, left, measure), changedSize(left, whole, measure));
  };
  // The billed output has the whole inputs of its calls.
  const reply = anchor.billed && stepItem(history, anchor.billed.item.step);
  const isCut = reply !== undefined && cutInputs.includes(reply.step) && !isCovered(reply);
  return [...changed]
    .filter((item) => !isCovered(item))
    .map((item) => lost(item, () => true))
    .concat(isCut ? [lost(reply, ({ role }) => role === "assistant")] : [])
    .reduce(addSize, noSize);
}

function mediaLostSince(
  { items }: HistoryState,
  view: ContextView,
  then: ContextView,
  anchor: Anchor,
): readonly HistoryItem[] {
  const [before, now] = [then, view].map(({ omissions }) => omissions.at(-1)?.omitted);
  if (now === before) return [];
  return items.filter(
    (item) => item.position < anchor.position && omittedIn(item, now) > omittedIn(item, before),
  );
}

function changedSize(
  messages: readonly ModelMessage[] = [],
  there: readonly ModelMessage[] = [],
  measure: Meter,
): MessageSize {
  return messages
    .filter((message) => !there.includes(message))
    .map((message) => measure.message(message))
    .reduce(addSize, noSize);
}

function difference(left: MessageSize, right: MessageSize): MessageSize {
  return {
    text: left.text - right.text,
    media: left.media - right.media,
    around: left.around - right.around,
    bytes: left.bytes - right.bytes,
  };
}

// The tokens of reasoning that a prompt has of an earlier reply, by the rule of the model's family. Pure.
// Providers bill reasoning that no message shows, if its signature is sent back or they keep it themselves.

interface Rules {
  readonly view: ContextView;
  readonly family: ModelFamily;
}

type AssistantPart = Exclude<AssistantModelMessage["content"], string>[number];

/** The most tokens that a provider puts around a reply and its calls. */
const WRAPPING = 512;

/** Output tokens of a reply, without reasoning that the next prompt does not have. */
function outputSentBack(
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
function reasoningIn(
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
