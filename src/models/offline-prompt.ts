/** Reads the call options of the offline model: what is asked, the calls since and before, the offered tools. Pure. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";

export interface Exchange {
  readonly toolName: string;
  readonly input: unknown;
  /** Undefined if no result of the call is known. */
  readonly output: LanguageModelV4ToolResultOutput | undefined;
}

export interface Situation {
  /** The text of the system messages. */
  readonly instructions: string;
  /** The texts of the last user message; several if messages were sent together. */
  readonly asked: readonly string[];
  /** The beginning of the answer that was cut off, if the model is asked to go on from there. */
  readonly said: string;
  /** Whether there are files, which this model cannot read. */
  readonly hasFiles: boolean;
  /** The calls before the last user message. */
  readonly earlier: readonly Exchange[];
  /** The calls since the last user message. */
  readonly since: readonly Exchange[];
  readonly offered: ReadonlySet<string>;
}

/** A text file of a message. */
const FILE = /^<file name=.*>\n[^]*\n<\/file>$/;

/** Asks for the rest of a reply that was cut off. */
const GO_ON = /^\[.*\bGo on from where it stopped\.\]$/;

/** A note of turnlog about the session. It is in the user's role, and the user did not write it. */
const NOTE = /^\[(?:The user took back what came|The time for this turn is up)\b[^]*\]$/;

export function readSituation(options: LanguageModelV4CallOptions): Situation {
  const whole = options.prompt.filter(
    (message) => message.role !== "user" || !textsOf(message).every((text) => NOTE.test(text)),
  );
  const isCut = textsOf(whole.at(-1)).some((text) => GO_ON.test(text));
  const prompt = isCut ? whole.slice(0, -1) : whole;
  const last = prompt.findLastIndex(({ role }) => role === "user");
  const first = prompt.slice(0, last + 1).findLastIndex(({ role }) => role !== "user") + 1;
  const messages = prompt.slice(first, last + 1);
  const texts = messages.flatMap((message) => textsOf(message));
  const parts = messages.reduce((sum, { content }) => sum + content.length, 0);
  const asked = texts.filter((text) => !FILE.test(text) && !NOTE.test(text) && text.trim() !== "");
  return {
    instructions: prompt.flatMap((one) => (one.role === "system" ? [one.content] : [])).join("\n"),
    asked: asked.map((text) => text.trim()),
    said: isCut ? textsOf(prompt.at(-1)).join("") : "",
    hasFiles: parts > texts.length || texts.some((text) => FILE.test(text)),
    earlier: exchangesOf(prompt.slice(0, first)),
    since: exchangesOf(prompt.slice(last + 1)),
    offered: offeredTools(options),
  };
}

function textsOf(message: LanguageModelV4Prompt[number] | undefined): readonly string[] {
  if (message === undefined || message.role === "system" || message.role === "tool") return [];
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

function offeredTools({ tools = [], toolChoice }: LanguageModelV4CallOptions): ReadonlySet<string> {
  const names = tools.filter((tool) => tool.type === "function").map(({ name }) => name);
  if (toolChoice?.type === "none") return new Set();
  const only = toolChoice?.type === "tool" ? toolChoice.toolName : undefined;
  return new Set(names.filter((name) => only === undefined || name === only));
}

type CallPart = Extract<LanguageModelV4Message, { role: "assistant" | "tool" }>["content"][number];

function exchangesOf(prompt: LanguageModelV4Prompt): readonly Exchange[] {
  const parts = prompt.flatMap((message): readonly CallPart[] =>
    message.role === "assistant" || message.role === "tool" ? message.content : [],
  );
  const results = parts.filter((part) => part.type === "tool-result");
  return parts.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    // Later steps may use a call id again: each call takes the next result with its id.
    const index = results.findIndex(({ toolCallId }) => toolCallId === part.toolCallId);
    const [result] = index === -1 ? [] : results.splice(index, 1);
    return [{ toolName: part.toolName, input: part.input, output: result?.output }];
  });
}
