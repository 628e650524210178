/**
 * The offline model: answers a few kinds of English requests by calling the offered tools. Its answer is a pure
 * function of the call options: no clock, no random number, no state.
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
import { countTokens, piecesOf, wordsOf } from "./delta.ts";
import { gatherParts } from "./gathered-parts.ts";
import { decide } from "./offline-answer.ts";
import { readSituation } from "./offline-prompt.ts";
import type { Move } from "./offline-plan.ts";
import { streamParts } from "./part-stream.ts";

export interface OfflineModelOptions {
  /** Milliseconds before each delta, to make streaming visible. Default: 0. */
  readonly delay?: number;
}

const schema = optionsOf<OfflineModelOptions>({ delay: milliseconds }, {});

/**
 * A language model without network and key. It lists, reads and searches with the tools `list_files`,
 * `read_file` and `search_files`, writes with `write_file`, says what a project is for by its README, explains
 * what it did, and summarises a conversation under given headings. It says which requests it does not understand.
 * Usage counts four characters as a token, rounded up: of the JSON of prompt and tools (input), and of the
 * reasoning, the text and the tool inputs (output). An aborted call rejects, or breaks its stream, with the
 * signal's reason.
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
      return { stream: streamParts(partsFor(options, delay), options.abortSignal) };
    },
    doGenerate(options) {
      return gatherParts(streamParts(partsFor(options, 0), options.abortSignal));
    },
  };
}

async function* partsFor(
  options: LanguageModelV4CallOptions,
  delay: number,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const sent = JSON.stringify(plain([options.prompt, options.tools ?? []]));
  const digest = createHash("sha256").update(sent).digest("hex").slice(0, 16);
  const move = decide(readSituation(options));
  const reply = limitReply(replyOf(move, options.reasoning !== "none"), options.maxOutputTokens);

  yield { type: "stream-start", warnings: warningsFor(options) };
  yield { type: "response-metadata", id: `offline-${digest}`, modelId: "offline" };
  if (reply.reasoning !== "") {
    yield { type: "reasoning-start", id: "reasoning-0" };
    for (const delta of wordsOf(reply.reasoning)) {
      if (delay > 0) await wait(delay);
      yield { type: "reasoning-delta", id: "reasoning-0", delta };
    }
    yield { type: "reasoning-end", id: "reasoning-0" };
  }
  if (reply.text !== "") {
    yield { type: "text-start", id: "text-0" };
    for (const delta of wordsOf(reply.text)) {
      if (delay > 0) await wait(delay);
      yield { type: "text-delta", id: "text-0", delta };
    }
    yield { type: "text-end", id: "text-0" };
  }
  for (const [index, { toolName, input }] of reply.calls.entries()) {
    const id = `call-${digest}-${index}`;
    yield { type: "tool-input-start", id, toolName };
    for (const delta of piecesOf(input)) yield { type: "tool-input-delta", id, delta };
    yield { type: "tool-input-end", id };
    yield { type: "tool-call", toolCallId: id, toolName, input };
  }
  const input = countTokens(sent);
  const reasoning = countTokens(reply.reasoning);
  const text =
    countTokens(reply.text) + reply.calls.reduce((sum, call) => sum + countTokens(call.input), 0);
  yield {
    type: "finish",
    finishReason: { unified: reply.finish, raw: reply.finish },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: text + reasoning, text, reasoning },
    },
  };
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

/** `input` is JSON. */
interface Reply {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly toolName: string; readonly input: string }[];
  readonly finish: "stop" | "tool-calls" | "length";
}

function replyOf(move: Move, thinks: boolean): Reply {
  if (move.kind === "ask") {
    const calls = [{ toolName: move.toolName, input: JSON.stringify(move.input) }];
    return { reasoning: thinks ? move.thought : "", text: "", calls, finish: "tool-calls" };
  }
  const reasoning = thinks ? "I have what I need to answer." : "";
  return { reasoning, text: move.text, calls: [], finish: "stop" };
}

/** Reasoning counts first, then text; calls are kept all or none. */
function limitReply(reply: Reply, maxTokens = Number.POSITIVE_INFINITY): Reply {
  const reasoning = reply.reasoning.slice(0, maxTokens * 4);
  const forText = maxTokens - countTokens(reasoning);
  const text = reply.text.slice(0, forText * 4);
  const forCalls = forText - countTokens(text);
  const needed = reply.calls.reduce((sum, call) => sum + countTokens(call.input), 0);
  if (reasoning === reply.reasoning && text === reply.text && needed <= forCalls) return reply;
  return { reasoning, text, calls: [], finish: "length" };
}
