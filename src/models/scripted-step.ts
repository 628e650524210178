/** The steps of `scriptedModel` scripts, and gates to stop a model inside a step. */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";

/** The model waits until `until` resolves; its stream breaks if `until` rejects. */
interface ScriptedGate {
  readonly type: "gate";
  readonly until: PromiseLike<unknown>;
  /** Called when the model reaches the gate: everything before it has been read. */
  readonly arrive?: () => void;
}

/** One delta, or a gate between two. */
export type ScriptedDelta = string | ScriptedGate;

/** A text or reasoning block: its start, its deltas and its end. */
export interface ScriptedBlock {
  readonly type: "text" | "reasoning";
  readonly deltas: readonly ScriptedDelta[];
  /** Sent with the end of the block, e.g. a signature. */
  readonly providerMetadata?: SharedV4ProviderMetadata;
}

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

/**
 * The answer to one call. A string is a step with one text block of one delta.
 * @example
 * const late: ScriptedStep = { failure: new Error("The provider is away.") };
 * const model = scriptedModel([late, "Here I am."]);
 */
export type ScriptedStep =
  | string
  | {
      readonly parts?: readonly ScriptedPart[];
      /** The call itself is refused with this error, before any part. */
      readonly failure?: unknown;
      /** By default `error` after an error part, `tool-calls` with a tool call, else `stop`. */
      readonly finishReason?: LanguageModelV4FinishReason["unified"];
      /** By default four characters are a token, and the prompt's JSON is the input. */
      readonly usage?: LanguageModelV4Usage;
      /** `scripted-<index>` by default. */
      readonly responseId?: string;
    };

/**
 * A gate of a script that a test opens.
 * @example
 * const stop: Gate = gate();
 * await stop.reached;
 * stop.open();
 */
export interface Gate extends ScriptedGate {
  /** Resolves when the model waits at the gate: everything before it has been read. */
  readonly reached: Promise<void>;
  /** Lets the model continue. */
  readonly open: () => void;
}

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
