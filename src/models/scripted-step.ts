/** What a scripted model is told to say in one call: the vocabulary of `scriptedModel`. Types only. */
import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";

/** A place where the model waits until `until` resolves (or breaks, if it rejects). */
export interface ScriptedGate {
  readonly type: "gate";
  readonly until: PromiseLike<unknown>;
  /** Called when the model has come to the gate: all that stands before it has been read. */
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
  /** Sent as JSON; a string is sent as it is, so that input which is not JSON can be scripted. */
  readonly input: unknown;
  /** How the input is cut; gates may stand between. By default it is one delta. */
  readonly deltas?: readonly ScriptedDelta[];
  readonly providerMetadata?: SharedV4ProviderMetadata;
}

/** One thing that the model does, in order. */
export type ScriptedPart =
  | ScriptedBlock
  | ScriptedToolCall
  | ScriptedGate
  /** An `error` part: the provider reports an error inside its stream. */
  | { readonly type: "error"; readonly error: unknown }
  /** The stream breaks here, as when a connection is lost. */
  | { readonly type: "break"; readonly error: unknown }
  /** Any part, exactly as it is. */
  | { readonly type: "raw-part"; readonly part: LanguageModelV4StreamPart };

/** One call of the model. A string is a step that says it as one text block of one delta. */
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
