/**
 * The offline model: answers a handful of English requests by calling the tools it is offered.
 * What it answers is a pure function of its call options: no clock, no random number, no state.
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
import { limitReply, replyOf } from "./offline-reply.ts";
import { streamParts } from "./part-stream.ts";

/** Options of {@link offlineModel}. */
export interface OfflineModelOptions {
  /** Milliseconds to wait before each delta, so that streaming can be watched; none by default. */
  readonly delay?: number;
}

const schema = optionsOf<OfflineModelOptions>({ delay: milliseconds }, {});

/**
 * A language model that needs no network and no key. It lists, reads, searches and counts through
 * the tools `list_files`, `read_file` and `search_files`, writes through `write_file`, can say what
 * it did, and summarises a conversation under the headings that it is told. It may take several steps for one request. What it does not understand it says.
 *
 * Usage follows a stated rule: a token is four characters, rounded up, of the JSON of the prompt
 * and the tools (input) and of the reasoning, the text and the tool inputs (output).
 *
 * An aborted call rejects, or breaks its stream, with the signal's reason.
 */
export function offlineModel(given: OfflineModelOptions = {}): LanguageModelV4 {
  check(schema, given, "offlineModel", { name: "options" });
  const { delay = 0 } = given;
  return {
    specificationVersion: "v4",
    provider: "turnlog",
    modelId: "offline",
    // It reads words alone, and nothing is fetched for it.
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

/** What the caller asked for that a model of fixed sentences cannot do. */
function warningsFor(options: LanguageModelV4CallOptions): SharedV4Warning[] {
  const unsupported: string[] = [];
  if (options.responseFormat?.type === "json") unsupported.push("responseFormat");
  if (options.stopSequences !== undefined && options.stopSequences.length > 0)
    unsupported.push("stopSequences");
  if (options.toolChoice?.type === "required") unsupported.push("toolChoice");
  return unsupported.map((feature) => ({ type: "unsupported", feature }));
}

/** Bytes of attached files count by their number: they are not text. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `${value.byteLength} bytes`;
  if (value instanceof URL) return value.href;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}
