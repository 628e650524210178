/**
 * Reads the call options of the offline model: what was asked last, what the tools have said
 * since, what happened before, and what may be called. The model decides from this and nothing else.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";

/** How a tool call ended, as the prompt tells it. */
export type Outcome =
  | { readonly kind: "answered"; readonly output: unknown }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "denied"; readonly reason: string | undefined };

/** A tool call of the conversation and how it ended. */
export interface Exchange {
  readonly toolName: string;
  readonly input: unknown;
  readonly outcome: Outcome;
}

/** All that the offline model knows when it decides. */
export interface Situation {
  /** The words of the system messages. */
  readonly instructions: string;
  /** The words of the last user message; messages that were delivered together are one. */
  readonly asked: string;
  /** Files that came with it, which this model cannot look at. */
  readonly attachments: number;
  /** Calls before the last user message. */
  readonly earlier: readonly Exchange[];
  /** Calls since the last user message. */
  readonly since: readonly Exchange[];
  /** Names of the tools that may be called. */
  readonly offered: ReadonlySet<string>;
}

/** The content of a text file that came with a message. */
const FILE = /^<file name=.*>\n[^]*\n<\/file>$/;

export function readSituation(options: LanguageModelV4CallOptions): Situation {
  const { prompt } = options;
  const last = prompt.findLastIndex((message) => message.role === "user");
  let first = last;
  while (prompt[first - 1]?.role === "user") first -= 1;

  let asked = "";
  let attachments = 0;
  for (const message of prompt.slice(Math.max(first, 0), last + 1)) {
    if (message.role !== "user") continue;
    for (const part of message.content) {
      if (part.type === "text" && !FILE.test(part.text)) asked += `${part.text}\n`;
      else attachments += 1;
    }
  }
  return {
    instructions: prompt.flatMap((one) => (one.role === "system" ? [one.content] : [])).join("\n"),
    asked: asked.trim(),
    attachments,
    earlier: exchangesOf(prompt.slice(0, Math.max(first, 0))),
    since: exchangesOf(prompt.slice(last + 1)),
    offered: offeredTools(options),
  };
}

function offeredTools({ tools = [], toolChoice }: LanguageModelV4CallOptions): ReadonlySet<string> {
  const names = tools.filter((tool) => tool.type === "function").map((tool) => tool.name);
  if (toolChoice?.type === "none") return new Set();
  if (toolChoice?.type !== "tool") return new Set(names);
  return new Set(names.filter((name) => name === toolChoice.toolName));
}

function exchangesOf(prompt: LanguageModelV4Prompt): readonly Exchange[] {
  const results = new Map<string, LanguageModelV4ToolResultPart[]>();
  for (const message of prompt) {
    if (message.role !== "tool" && message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      results.set(part.toolCallId, [...(results.get(part.toolCallId) ?? []), part]);
    }
  }
  const exchanges: Exchange[] = [];
  for (const message of prompt) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type !== "tool-call") continue;
      // Call ids may be used again in a later step: each call takes the next result of its id.
      const result = results.get(part.toolCallId)?.shift();
      const outcome: Outcome =
        result === undefined
          ? { kind: "failed", message: "no result of this call is known" }
          : outcomeOf(result.output);
      exchanges.push({ toolName: part.toolName, input: part.input, outcome });
    }
  }
  return exchanges;
}

function outcomeOf(output: LanguageModelV4ToolResultOutput): Outcome {
  switch (output.type) {
    case "text":
    case "json":
      return { kind: "answered", output: output.value };
    case "content": {
      const texts = output.value.map((part) =>
        part.type === "text" ? part.text : `[${part.type}]`,
      );
      return { kind: "answered", output: texts.join("\n") };
    }
    case "execution-denied":
      return { kind: "denied", reason: output.reason };
    case "error-text":
      return { kind: "failed", message: output.value };
    case "error-json":
      return { kind: "failed", message: JSON.stringify(output.value) };
  }
}
