/** A language model for tests that answers from a script. Public in `turnlog/testing`. */
import { setTimeout as wait } from "node:timers/promises";
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  SharedV4Warning,
  LanguageModelV4FinishReason,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { TurnlogError } from "../events/index.ts";
import { gatherParts, streamParts } from "./gathered-parts.ts";
import { z } from "zod";
import {
  check,
  implementation,
  milliseconds,
  name,
  oneOf,
  optionsOf,
  report,
  text,
  thing,
} from "../validation/index.ts";

/** The steps in order, or a function that makes the step of a call (`index` counts from 0). */
export type Script =
  | readonly ScriptedStep[]
  | ((
      options: LanguageModelV4CallOptions,
      index: number,
    ) => ScriptedStep | PromiseLike<ScriptedStep>);

/**
 * A `LanguageModelV4` that records its calls.
 * @example
 * const model: ScriptedModel = scriptedModel(["Hello."]);
 * // after a turn:
 * console.log(model.calls.length);
 */
export interface ScriptedModel extends LanguageModelV4 {
  /** The options of every call so far, including failed ones. */
  readonly calls: readonly LanguageModelV4CallOptions[];
}

/**
 * Makes a model that answers each call (`doStream` or `doGenerate`) with the next step of the script. A list
 * belongs to this process and starts over after a restart; to survive one, give a function that looks at the
 * prompt. Parts are sent when they are read, so a gate holds back all parts after it. An aborted call breaks its
 * stream with the signal's reason, even at a gate.
 * @example
 * const call = { type: "tool-call", toolCallId: "a", toolName: "search", input: { query: "zod" } } as const;
 * const model = scriptedModel([{ parts: [call] }, "Two files mention it."]);
 * @throws {TurnlogError} `INVALID_INPUT` for an invalid step (of a function: at the call for which it
 * made the step), and at the call for which the script has no step left.
 */
export function scriptedModel(script: Script): ScriptedModel {
  const calls: LanguageModelV4CallOptions[] = [];
  // Its type takes one argument, for those who have types.
  if (arguments.length > 1) throw tooMany();
  checkScript(script);

  async function nextParts(options: LanguageModelV4CallOptions) {
    const index = calls.push(options) - 1;
    const step = typeof script === "function" ? await script(options, index) : script[index];
    if (step === undefined)
      throw runOut(index, typeof script === "function" ? undefined : script.length);
    if (typeof script === "function") checkStep(step, index);
    options.abortSignal?.throwIfAborted();
    const reply = replyOf(step);
    if ("failure" in reply) throw reply.failure;
    const parts = partsOf(reply, options.prompt, {
      modelId: "scripted",
      responseId: reply.responseId ?? `scripted-${index}`,
      ...(options.abortSignal && { signal: options.abortSignal }),
    });
    return streamParts(parts, options.abortSignal);
  }

  return {
    specificationVersion: "v4",
    provider: "turnlog",
    modelId: "scripted",
    supportedUrls: {},
    calls,
    doStream: async (options) => ({ stream: await nextParts(options) }),
    doGenerate: async (options) => gatherParts(await nextParts(options)),
  };
}

function runOut(index: number, length: number | undefined): TurnlogError {
  const had = length === undefined ? "its function returned no step" : `the script has ${length}`;
  return new TurnlogError(
    "INVALID_INPUT",
    `The scripted model was called for step ${index + 1}, but ${had}. Add a step, or end the turn earlier.`,
    { details: { call: index + 1, steps: length } },
  );
}

function tooMany(): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    "scriptedModel takes the script and no options: `delay`, `failure`, `usage` and `finishReason` are fields of a step.",
    { details: { option: "arguments" } },
  );
}

function replyOf(step: ScriptedStep): ScriptedReply {
  return typeof step === "string" ? { parts: [{ type: "text", text: step }] } : step;
}

interface Reply {
  readonly modelId: string;
  readonly responseId: string;
  readonly warnings?: SharedV4Warning[];
  readonly signal?: AbortSignal;
}

/**
 * The parts of a step as a provider streams them. By default the usage counts tokens by `countTokens`. How the
 * step ends is read after its last part, so a script may decide it while the parts are sent.
 */
export async function* partsOf(
  step: ScriptedReply,
  prompt: LanguageModelV4Prompt,
  { modelId, responseId, warnings = [], signal }: Reply,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const { parts = [], delay = 0 } = step;
  const output = { text: "", reasoning: "" };

  // A timer takes no more, and would not wait at all.
  if (delay > 0) await wait(Math.min(delay, 2 ** 31 - 1), undefined, { signal });
  yield { type: "stream-start", warnings };
  yield { type: "response-metadata", id: responseId, modelId };
  for (const [position, part] of parts.entries()) {
    switch (part.type) {
      case "text":
      case "reasoning":
        yield* blockParts(part, `${part.type}-${position}`);
        output[part.type] += deltasOf(part)
          .filter((delta) => typeof delta === "string")
          .join("");
        break;
      case "tool-call":
        yield* callParts(part);
        output.text += inputOf(part);
        break;
      case "gate":
        part.arrive?.();
        await part.until;
        break;
      case "error":
        yield part;
        break;
      case "break":
        throw part.error;
      case "raw-part":
        yield part.part;
    }
  }
  const has = (type: ScriptedPart["type"]) => parts.some((part) => part.type === type);
  const unified =
    step.finishReason ?? (has("error") ? "error" : has("tool-call") ? "tool-calls" : "stop");
  const input = countTokens(JSON.stringify(prompt));
  const [text, reasoning] = [countTokens(output.text), countTokens(output.reasoning)];
  yield {
    type: "finish",
    finishReason: { unified, raw: unified },
    usage: step.usage ?? {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: text + reasoning, text, reasoning },
    },
  };
}

/** A token is four characters, rounded up. */
export function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

async function* blockParts(
  block: ScriptedBlock,
  id: string,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const { type, providerMetadata } = block;
  yield { type: `${type}-start`, id };
  for await (const delta of throughGates(deltasOf(block)))
    yield { type: `${type}-delta`, id, delta };
  yield { type: `${type}-end`, id, ...(providerMetadata && { providerMetadata }) };
}

function deltasOf(one: ScriptedBlock): readonly ScriptedDelta[] {
  return one.deltas ?? [one.text];
}

async function* callParts(call: ScriptedToolCall): AsyncGenerator<LanguageModelV4StreamPart> {
  const { toolCallId, toolName, providerMetadata } = call;
  const input = inputOf(call);
  yield { type: "tool-input-start", id: toolCallId, toolName };
  for await (const delta of throughGates(call.deltas ?? [input])) {
    yield { type: "tool-input-delta", id: toolCallId, delta };
  }
  yield { type: "tool-input-end", id: toolCallId };
  yield {
    type: "tool-call",
    toolCallId,
    toolName,
    input,
    ...(providerMetadata && { providerMetadata }),
  };
}

function inputOf({ input }: ScriptedToolCall): string {
  return typeof input === "string" ? input : (JSON.stringify(input) ?? "");
}

/** Each string comes after the gates before it have opened. */
async function* throughGates(deltas: readonly ScriptedDelta[]): AsyncGenerator<string> {
  for (const delta of deltas) {
    if (typeof delta === "string") {
      yield delta;
    } else {
      delta.arrive?.();
      await delta.until;
    }
  }
}

// Checks the steps of a scripted model, so that a mistake in a script is refused.

type Kind = ScriptedPart["type"];
type PartOf<Type extends Kind> = Extract<ScriptedPart, { readonly type: Type }>;

const anything = z.unknown();

/** A gate may have more fields, as those of `gate()`. */
function isGate(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const until: unknown = Reflect.get(value, "until");
  return (
    Reflect.get(value, "type") === "gate" &&
    typeof until === "object" &&
    until !== null &&
    "then" in until
  );
}

const deltas = thing(
  "a list of texts and gates",
  (value) =>
    Array.isArray(value) &&
    value.every((delta: unknown) => typeof delta === "string" || isGate(delta)),
);
/** What people write in place of `deltas`, and of `failure`. */
const deltasHint = "a piece of text is one of `deltas`, and a whole one is `text`.";
const failureHint = "a call that is refused has `failure`, and a reply that breaks a part `error`.";
const blockHints = { content: deltasHint, delta: deltasHint };
const stepHints = {
  error: failureHint,
  throw: failureHint,
  type: 'a part is one of `parts`: `{ parts: [{ type: "text", text }] }`.',
  text: 'write the text itself as the step, or `parts: [{ type: "text", text }]`.',
  toolCalls: 'a call is one of `parts`: `{ type: "tool-call", toolCallId, toolName, input }`.',
};

const block = z.unknown().superRefine((value, context) => {
  const isWhole = Reflect.get(Object(value), "deltas") === undefined;
  report(isWhole ? wholeBlock : pieces, value, context, []);
});
const pieces = optionsOf<Pieces>(
  { providerMetadata: anything },
  { type: text, deltas },
  { hints: { text: "a block has `text` or `deltas`, not both." } },
);
const wholeBlock = optionsOf<WholeBlock>(
  { providerMetadata: anything },
  { type: text, text },
  { hints: blockHints },
);

const parts: Readonly<Record<Kind, z.ZodType>> = {
  text: block,
  reasoning: block,
  "tool-call": optionsOf<ScriptedToolCall>(
    { deltas, providerMetadata: anything },
    { type: text, toolCallId: text, toolName: text, input: anything },
    { hints: { args: "what a tool is called with is `input`." } },
  ),
  gate: thing("a gate, which has a promise as `until`", isGate),
  error: optionsOf<PartOf<"error">>({}, { type: text, error: anything }),
  break: optionsOf<PartOf<"break">>({}, { type: text, error: anything }),
  "raw-part": optionsOf<PartOf<"raw-part">>({}, { type: text, part: anything }),
};
const kinds = new Map(Object.entries(parts));

const part = z.unknown().superRefine((value, context) => {
  const type: unknown = Reflect.get(Object(value), "type");
  const schema = typeof type === "string" ? kinds.get(type) : undefined;
  if (schema !== undefined) report(schema, value, context, []);
  else {
    const message = `one of ${[...kinds.keys()].map((kind) => `"${kind}"`).join(", ")}`;
    context.addIssue({ code: "custom", path: ["type"], message });
  }
});

const step = optionsOf<ScriptedReply>(
  {
    delay: milliseconds,
    parts: z.array(part, "a list of parts"),
    failure: anything,
    finishReason: oneOf(
      "stop",
      "length",
      "content-filter",
      "tool-calls",
      "error",
      "interrupted",
      "other",
    ),
    usage: implementation({ inputTokens: implementation({}), outputTokens: implementation({}) }),
    responseId: name,
  },
  {},
  { hints: stepHints },
);

const script = thing(
  "a list of steps, or a function that makes them",
  (value) => Array.isArray(value) || typeof value === "function",
);

/** @throws TurnlogError `INVALID_INPUT` that names the field in the script */
function checkScript(given: unknown): void {
  check(script, given, "scriptedModel", { name: "script" });
  if (!Array.isArray(given)) return;
  for (const [index, one] of given.entries()) checkStep(one, index);
}

/** @throws TurnlogError `INVALID_INPUT` that names the field in the step */
function checkStep(given: unknown, index: number): void {
  if (typeof given === "string") return;
  check(step, given, "scriptedModel", { name: `step ${index + 1}` });
}

// The steps of `scriptedModel` scripts, and gates to stop a model inside a step.

/** The model waits until `until` resolves. Its stream breaks if `until` rejects. */
type ScriptedGate = {
  readonly type: "gate";
  readonly until: PromiseLike<unknown>;
  /** Called when the model reaches the gate: everything before it has been read. */
  readonly arrive?: () => void;
};

/** One delta, or a gate between two. */
type ScriptedDelta = string | ScriptedGate;

interface AnyBlock {
  readonly type: "text" | "reasoning";
  /** Sent with the end of the block, e.g. a signature. */
  readonly providerMetadata?: SharedV4ProviderMetadata;
}

interface WholeBlock extends AnyBlock {
  /** Sent as one delta. */
  readonly text: string;
}

interface Pieces extends AnyBlock {
  readonly deltas: readonly ScriptedDelta[];
}

/** A text or reasoning block: its start, its deltas and its end. */
type ScriptedBlock =
  | (WholeBlock & { readonly deltas?: never })
  | (Pieces & { readonly text?: never });

/** A tool call: the start of its input, the input's deltas, its end, and the call. */
export interface ScriptedToolCall {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  /** Sent as JSON; a string is sent unchanged, so that a script can send invalid JSON. */
  readonly input: unknown;
  /** The deltas of the input, with gates between them. Default: one delta. */
  readonly deltas?: readonly ScriptedDelta[];
  readonly providerMetadata?: SharedV4ProviderMetadata;
}

export type ScriptedPart =
  | ScriptedBlock
  | ScriptedToolCall
  | ScriptedGate
  /** An `error` part: the provider reports an error inside its stream. */
  | { readonly type: "error"; readonly error: unknown }
  /** The stream breaks here, as when a connection is lost. */
  | { readonly type: "break"; readonly error: unknown }
  /** Any part, sent unchanged. */
  | { readonly type: "raw-part"; readonly part: LanguageModelV4StreamPart };

interface ScriptedReply {
  readonly parts?: readonly ScriptedPart[];
  /** The call itself is refused with this error, before any part. */
  readonly failure?: unknown;
  /** Milliseconds of real time before the first part. Default: none. A gate waits for as long as a test likes. */
  readonly delay?: number;
  /** By default `error` after an error part, `tool-calls` with a tool call, else `stop`. */
  readonly finishReason?: LanguageModelV4FinishReason["unified"];
  /** By default four characters are a token, and the prompt's JSON is the input. */
  readonly usage?: LanguageModelV4Usage;
  /** `scripted-<index>` by default. */
  readonly responseId?: string;
}

/**
 * The answer to one call: its parts, or a text.
 * @example
 * const model = scriptedModel([{ failure: new Error("The provider is away.") }, "Here I am."]);
 */
export type ScriptedStep = string | ScriptedReply;

type Gate = ScriptedGate & {
  /** Resolves when the model waits at the gate: everything before it has been read. */
  readonly reached: Promise<void>;
  /** Lets the model continue. */
  readonly open: () => void;
};

/**
 * Makes a gate for use between the parts of a step or the deltas of a block.
 * @example
 * const stop = gate();
 * const model = scriptedModel([{ parts: [{ type: "text", deltas: ["one ", stop, "two"] }] }]);
 * // start the turn, then:
 * await stop.reached; // "one " has been read, "two" has not been sent
 * stop.open();
 */
export function gate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    type: "gate",
    until: opened.promise,
    arrive: reached.resolve,
    reached: reached.promise,
    open: opened.resolve,
  };
}
