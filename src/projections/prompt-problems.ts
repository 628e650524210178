/** Finds breaches of the rules that providers enforce on prompts, for all tests and for users. Pure. */

import type { ModelMessage, ToolCallPart, ToolResultPart } from "ai";
import type { ModelName } from "../events/index.ts";
import type { HistoryItem, HistoryPart, StepItem } from "./history-item.ts";

/** A breach of a rule, with the index of the message. */
export interface PromptProblem {
  readonly message: number;
  readonly rule: PromptRule;
  readonly what: string;
}

/**
 * - `begins-with-user`: the first message is a user message (Anthropic, Google).
 * - `ends-with-input`: the last message is a user or tool message; newer models refuse a reply at the end,
 *   which would be a prefill (Anthropic), unless its provider continues it.
 * - `replies-apart`: no two assistant messages in a row; the SDK joins them for Anthropic, which refuses
 *   reasoning that does not come first. A result of a call in the reply before, where the provider paused,
 *   continues it.
 * - `not-empty`: no message without content, and no text of white space only without metadata
 *   (Anthropic, Google).
 * - `calls-answered`: each call that the runtime runs has exactly one result, in the next message (all).
 * - `provider-calls-answered`: a call that the provider ran has its result in the same or a later message
 *   (Anthropic). It may stay open until a user message follows.
 * - `results-called`: each result has a call (OpenAI, Anthropic).
 * - `results-in-order`: results have the order of their calls (Google matches them by order).
 * - `unique-calls`: no call id twice in a prompt (Anthropic) or in a message (OpenAI). A log may repeat
 *   ids; what is sent has other ids, which `promptWithMedia` shows.
 * - `reasoning-followed`: something other than reasoning follows reasoning (OpenAI).
 */
export type PromptRule =
  | "begins-with-user"
  | "ends-with-input"
  | "replies-apart"
  | "not-empty"
  | "calls-answered"
  | "provider-calls-answered"
  | "results-called"
  | "results-in-order"
  | "unique-calls"
  | "reasoning-followed";

interface Checked {
  readonly messages: readonly ModelMessage[];
  readonly index: number;
  readonly message: ModelMessage;
}

/**
 * All breaches in the messages of a prompt, in order. Empty if the prompt is valid.
 * @example
 * const { messages: prompt } = (await session.view()).prompt;
 * expect(promptProblems(prompt)).toEqual([]);
 */
export function promptProblems(messages: readonly ModelMessage[]): readonly PromptProblem[] {
  const problems = messages.flatMap((message, index) =>
    messageProblems({ messages, index, message }),
  );
  problems.push(...repeatedCalls(messages), ...unansweredByProvider(messages));
  problems.sort((one, other) => one.message - other.message);
  const [first, last] = [messages[0], messages.at(-1)];
  if (first !== undefined && first.role !== "user") {
    problems.unshift({
      message: 0,
      rule: "begins-with-user",
      what: `the first message is the ${first.role}'s`,
    });
  }
  if (last?.role === "assistant" && !isPaused(last)) {
    const message = messages.length - 1;
    problems.push({
      message,
      rule: "ends-with-input",
      what: "the last message is the model's own",
    });
  }
  return problems;
}

/** Whether a reply has a call that the provider runs and has not answered. */
function isPaused(reply: ModelMessage): boolean {
  const open = new Set<string>();
  for (const part of providerParts(reply)) {
    if (part.type === "tool-call") open.add(part.toolCallId);
    else open.delete(part.toolCallId);
  }
  return open.size > 0;
}

function messageProblems(checked: Checked): PromptProblem[] {
  const { message, index } = checked;
  if (message.content.length === 0) {
    return [
      { message: index, rule: "not-empty", what: `the ${message.role} message has no content` },
    ];
  }
  switch (message.role) {
    case "assistant":
      return [
        ...adjacentReplies(checked),
        ...emptyTexts(checked),
        ...callProblems(checked),
        ...reasoningProblems(checked),
      ];
    case "tool":
      return resultProblems(checked);
    case "user":
      return emptyTexts(checked);
    case "system":
      return [];
  }
}

function adjacentReplies({ messages, message, index }: Checked): PromptProblem[] {
  const before = messages[index - 1];
  if (before?.role !== "assistant") return [];
  const calls = providerParts(before).flatMap((part) =>
    part.type === "tool-call" ? [part.toolCallId] : [],
  );
  const goesOn = providerParts(message).some(
    (part) => part.type === "tool-result" && calls.includes(part.toolCallId),
  );
  if (goesOn) return [];
  return [
    { message: index, rule: "replies-apart", what: "it follows another message of the model" },
  ];
}

function emptyTexts({ message, index }: Checked): PromptProblem[] {
  const problem = { message: index, rule: "not-empty", what: "a text is empty" } as const;
  if (typeof message.content === "string") return message.content.trim() === "" ? [problem] : [];
  return message.content.flatMap((part) =>
    part.type === "text" && part.text.trim() === "" && part.providerOptions === undefined
      ? [problem]
      : [],
  );
}

/** Calls with the id of an earlier call, of the runtime or the provider. */
function repeatedCalls(messages: readonly ModelMessage[]): readonly PromptProblem[] {
  const known = new Set<string>();
  return messages.flatMap((message, index) => {
    if (message.role !== "assistant" || typeof message.content === "string") return [];
    return message.content.flatMap((part): PromptProblem[] => {
      if (part.type !== "tool-call") return [];
      const id = part.toolCallId;
      if (known.has(id)) {
        return [{ message: index, rule: "unique-calls", what: `call ${id} is there twice` }];
      }
      known.add(id);
      return [];
    });
  });
}

/** Calls of the provider without a result in their own or a later message, before a user message. */
function unansweredByProvider(messages: readonly ModelMessage[]): readonly PromptProblem[] {
  const open = new Map<string, number>();
  for (const [index, message] of messages.entries()) {
    for (const part of providerParts(message)) {
      if (part.type === "tool-call") open.set(part.toolCallId, index);
      else open.delete(part.toolCallId);
    }
  }
  const words = messages.findLastIndex(({ role }) => role === "user");
  return [...open].flatMap(([id, message]): readonly PromptProblem[] => {
    if (message > words) return [];
    const what = `call ${id}, which the provider ran, has no result`;
    return [{ message, rule: "provider-calls-answered", what }];
  });
}

function providerParts(
  message: ModelMessage | undefined,
): readonly (ToolCallPart | ToolResultPart)[] {
  if (message?.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.filter(
    (part): part is ToolCallPart | ToolResultPart =>
      part.type === "tool-result" || (part.type === "tool-call" && part.providerExecuted === true),
  );
}

/** Ids of the calls in a message that the runtime answers. */
export function callIds(message: ModelMessage | undefined): readonly string[] {
  if (message?.role !== "assistant" || typeof message.content === "string") return [];
  return message.content.flatMap((part) =>
    part.type === "tool-call" && part.providerExecuted !== true ? [part.toolCallId] : [],
  );
}

export function resultIds(message: ModelMessage | undefined): readonly string[] {
  if (message?.role !== "tool") return [];
  return message.content.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : []));
}

function callProblems({ messages, message, index }: Checked): PromptProblem[] {
  const calls = callIds(message);
  const results = resultIds(messages[index + 1]);
  const unanswered = calls.filter((id) => results.filter((result) => result === id).length !== 1);
  const ordered =
    calls.filter((id) => results.includes(id)).join() ===
    results.filter((id) => calls.includes(id)).join();
  return [
    ...unanswered.map((id) => ({
      message: index,
      rule: "calls-answered" as const,
      what: `call ${id} has ${results.filter((result) => result === id).length} results`,
    })),
    ...(ordered
      ? []
      : [
          {
            message: index + 1,
            rule: "results-in-order" as const,
            what: "results are not in the order of the calls",
          },
        ]),
  ];
}

function resultProblems({ messages, message, index }: Checked): PromptProblem[] {
  const calls = callIds(messages[index - 1]);
  return resultIds(message)
    .filter((id) => !calls.includes(id))
    .map((id) => ({
      message: index,
      rule: "results-called",
      what: `result ${id} has no call before it`,
    }));
}

function reasoningProblems({ message, index }: Checked): PromptProblem[] {
  if (message.role !== "assistant" || typeof message.content === "string") return [];
  const last = message.content.at(-1);
  return last?.type === "reasoning" || last?.type === "reasoning-file"
    ? [{ message: index, rule: "reasoning-followed", what: "nothing follows the reasoning" }]
    : [];
}

// Removes the parts of a step that only its own provider accepts, when another model is shown the step. Depends
// only on the two models, both from the log. Pure.

/**
 * Models with the same binding accept each other's signed, encrypted and stored parts: those of one provider
 * interface, or of one maker behind a provider with many makers.
 */
export function bindingOf({ provider, modelId }: ModelName): string {
  const maker = /^(?:(?:us|eu|apac|global|jp|au|ca)\.)?([\w-]+)[./]/.exec(modelId)?.[1];
  const isMarket = provider === "amazon-bedrock" || modelId.includes("/");
  return isMarket && maker !== undefined ? `${provider}/${maker}` : provider;
}

/** The binding of imported steps: they are sent unchanged, since providers skip metadata of others. */
const IMPORTED = "imported";

/** Whether the steps of models with these bindings can be sent unchanged to a model with binding `to`. */
export function isAllBound(bindings: readonly string[], to: string | undefined): boolean {
  return to === undefined || bindings.every((binding) => binding === to || binding === IMPORTED);
}

const shown = new WeakMap<StepItem, StepItem>();

/** Steps of models with another binding lose their bound parts. */
export function boundItem(item: HistoryItem, to: string | undefined): HistoryItem {
  if (item.kind !== "step" || isAllBound([bindingOf(item.model)], to)) return item;
  const known = shown.get(item);
  if (known !== undefined) return known;
  const unbound = { ...item, parts: item.parts.flatMap(unboundPart) };
  shown.set(item, unbound);
  return unbound;
}

/** Text and calls stay, without metadata. No other provider accepts reasoning, files and the rest. */
function unboundPart(part: HistoryPart): readonly HistoryPart[] {
  switch (part.kind) {
    case "text":
    case "call": {
      const { providerMetadata: _, ...rest } = part;
      return [rest];
    }
    case "source":
    case "error":
      return [part];
    case "reasoning":
    case "reasoning-file":
    case "file":
    case "custom":
    case "provider-call":
    case "provider-result":
      return [];
  }
}
