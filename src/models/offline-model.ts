/**
 * The offline model: answers a few kinds of requests by calling the offered tools. Its answer is a pure function
 * of the call options: no clock, no random number, no state.
 */
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { check, milliseconds, optionsOf } from "../validation/index.ts";
import { gatherParts, streamParts } from "./gathered-parts.ts";
import { decide, type Move } from "./offline-answer.ts";
import { countTokens, partsOf } from "./scripted-model.ts";

export interface OfflineModelOptions {
  /** Milliseconds before each delta, to make streaming visible. Default: 0. */
  readonly delay?: number;
}

const schema = optionsOf<OfflineModelOptions>({ delay: milliseconds }, {});

/**
 * A language model that needs no network and no key. The first word of a message decides: it lists, reads and
 * searches with the tools `list_files`, `read_file` and `search_files`, writes with `write_file`, and answers any
 * other message by saying that it does not understand it. Its summaries list the user's messages. Usage counts
 * four characters as a token, rounded up: of the JSON of prompt and tools (input), and of the reasoning, the text
 * and the tool inputs (output). An aborted call rejects, or breaks its stream, with the signal's reason.
 * @example
 * const runtime = await createRuntime({ memory: true, agent: { model: offlineModel({ delay: 50 }) } });
 */
export function offlineModel(given: OfflineModelOptions = {}): LanguageModelV4 {
  check(schema, given, "offlineModel", { name: "options" });
  const { delay = 0 } = given;
  return {
    specificationVersion: "v4",
    provider: "turnlog",
    modelId: "offline",
    // The model reads text only, so that the SDK downloads nothing for it.
    supportedUrls: { "*/*": [/^/] },
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      return { stream: streamParts(paced(options, delay), options.abortSignal) };
    },
    doGenerate(options) {
      return gatherParts(streamParts(paced(options, 0), options.abortSignal));
    },
  };
}

async function* paced(
  options: LanguageModelV4CallOptions,
  delay: number,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const sent = JSON.stringify(plain([options.prompt, options.tools ?? []]));
  const id = createHash("sha256").update(sent).digest("hex").slice(0, 16);
  const { thought, answer, call, finish } = replyOf(decide(options), options);
  const input = countTokens(sent);
  const reasoning = countTokens(thought);
  const text = countTokens(answer) + (call === undefined ? 0 : countTokens(call.input));
  const step = {
    parts: [
      ...(thought === "" ? [] : [{ type: "reasoning", deltas: wordsOf(thought) } as const]),
      ...(answer === "" ? [] : [{ type: "text", deltas: wordsOf(answer) } as const]),
      ...(call === undefined
        ? []
        : [{ type: "tool-call", toolCallId: `call-${id}`, ...call } as const]),
    ],
    finishReason: finish,
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: text + reasoning, text, reasoning },
    },
  };
  const reply = {
    modelId: "offline",
    responseId: `offline-${id}`,
    warnings: warningsFor(options),
  };
  for await (const part of partsOf(step, options.prompt, reply)) {
    if (delay > 0 && (part.type === "text-delta" || part.type === "reasoning-delta"))
      await wait(delay);
    yield part;
  }
}

function warningsFor(options: LanguageModelV4CallOptions): SharedV4Warning[] {
  const unsupported: string[] = [];
  if (options.responseFormat?.type === "json") unsupported.push("responseFormat");
  if (options.stopSequences !== undefined && options.stopSequences.length > 0)
    unsupported.push("stopSequences");
  if (options.toolChoice?.type === "required") unsupported.push("toolChoice");
  return unsupported.map((feature) => ({ type: "unsupported", feature }));
}

/** Replaces bytes of files by their number, since they are not text. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  if (value instanceof URL) return value.href;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

/** Words with the white space around them. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\s*\S+\s*|\s+/g) ?? [];
}

interface Reply {
  readonly thought: string;
  readonly answer: string;
  /** `input` is JSON. */
  readonly call: { readonly toolName: string; readonly input: string } | undefined;
  readonly finish: "stop" | "tool-calls" | "length";
}

/** Within the limit of tokens: reasoning counts first, then the text; a call is kept whole or not at all. */
function replyOf(
  move: Move,
  { reasoning, maxOutputTokens = Number.POSITIVE_INFINITY }: LanguageModelV4CallOptions,
): Reply {
  const isCall = move.kind === "call";
  const thinking = isCall ? move.thought : "I have what I need to answer.";
  const thought = (reasoning === "none" ? "" : thinking).slice(0, maxOutputTokens * 4);
  const left = maxOutputTokens - countTokens(thought);
  const whole = isCall ? JSON.stringify(move.input) : move.text;
  const isCut =
    countTokens(whole) > left || (reasoning !== "none" && thought.length < thinking.length);
  const finish = isCut ? "length" : isCall ? "tool-calls" : "stop";
  if (!isCall) return { thought, answer: whole.slice(0, left * 4), call: undefined, finish };
  const call = isCut ? undefined : { toolName: move.toolName, input: whole };
  return { thought, answer: "", call, finish };
}
