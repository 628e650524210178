/**
 * Reads the call options of the offline model: the last user message, the tool results since, earlier calls,
 * the offered tools. Also the results of the folder tools: an unknown form is reported, never guessed.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import { z } from "zod";

export type Outcome =
  | { readonly kind: "answered"; readonly output: unknown }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "denied"; readonly reason: string | undefined };

export interface Exchange {
  readonly toolName: string;
  readonly input: unknown;
  readonly outcome: Outcome;
}

export interface Situation {
  /** The text of the system messages. */
  readonly instructions: string;
  /** The text of the last user message; consecutive user messages are one. */
  readonly asked: string;
  /** The beginning of the answer that was cut off, if the model is asked to go on from there. */
  readonly said: string;
  /** Number of its files, which this model cannot read. */
  readonly attachments: number;
  /** Calls before the last user message. */
  readonly earlier: readonly Exchange[];
  /** Calls since the last user message. */
  readonly since: readonly Exchange[];
  readonly offered: ReadonlySet<string>;
}

/** A text file of a message. */
const FILE = /^<file name=.*>\n[^]*\n<\/file>$/;

/** Asks for the rest of a reply that was cut off. */
const GO_ON = /^\[.*\bGo on from where it stopped\.\]$/;

/** A note of turnlog about the session. It is in the user's role, and the user did not write it. */
const NOTE = /^\[(?:The user took back what came|The time for this turn is up)\b[^]*\]$/;

function withoutNotes(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.flatMap((message): LanguageModelV4Prompt => {
    if (message.role !== "user") return [message];
    const content = message.content.filter((part) => part.type !== "text" || !NOTE.test(part.text));
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

export function readSituation(options: LanguageModelV4CallOptions): Situation {
  const whole = withoutNotes(options.prompt);
  const isCut = textOf(whole.at(-1)).some((text) => GO_ON.test(text));
  const prompt = isCut ? whole.slice(0, -1) : whole;
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
    said: isCut ? textOf(prompt.at(-1)).join("") : "",
    attachments,
    earlier: exchangesOf(prompt.slice(0, Math.max(first, 0))),
    since: exchangesOf(prompt.slice(last + 1)),
    offered: offeredTools(options),
  };
}

function textOf(message: LanguageModelV4Prompt[number] | undefined): readonly string[] {
  if (message === undefined || message.role === "system" || message.role === "tool") return [];
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
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
      // Later steps may reuse call ids: each call takes the next result with its id.
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

export interface Coverage {
  readonly passedOver?: readonly string[] | undefined;
  /** The reason for an incomplete result. */
  readonly cut?: string | undefined;
}

export interface Listing extends Coverage {
  readonly entries: readonly string[];
}

export interface FileText extends Coverage {
  readonly text: string;
  readonly totalLines?: number | undefined;
}

export interface Findings extends Coverage {
  readonly matches: readonly {
    readonly file: string;
    readonly line: number;
    readonly text: string;
  }[];
}

const coverage = { passedOver: z.array(z.string()).optional(), cut: z.string().optional() };

const listing: z.ZodType<Listing> = z.object({ entries: z.array(z.string()), ...coverage });

const fileText: z.ZodType<FileText> = z.lazy(() =>
  z.object({
    text: z.string(),
    totalLines: z.number().optional(),
    ...coverage,
  }),
);

const findings: z.ZodType<Findings> = z.lazy(() =>
  z.object({
    matches: z.array(z.object({ file: z.string(), line: z.number(), text: z.string() })),
    ...coverage,
  }),
);

export function readListing(output: unknown): Listing | undefined {
  return listing.safeParse(output).data;
}

/** A plain string is the requested text, without the length of the file. */
export function readFileText(output: unknown): FileText | undefined {
  return typeof output === "string" ? { text: output } : fileText.safeParse(output).data;
}

export function readFindings(output: unknown): Findings | undefined {
  return findings.safeParse(output).data;
}
