/**
 * The interface of a model call. Two implementations record the same parts: the AI SDK's primitive
 * (default, less CPU) and `streamText` (telemetry and transforms).
 */

import type {
  LanguageModelCallEndEvent,
  LanguageModelCallStartEvent,
  LanguageModelRequestMetadata,
  ModelMessage,
  OutputInterface,
  Telemetry,
} from "ai";
import type {
  EventBody,
  EventType,
  FinishReason,
  ProviderMetadata,
  ResponseMetadata,
  TokenUsage,
} from "../events/index.ts";
import type { CacheLifetime } from "../context/index.ts";
import type { Agent } from "./agent.ts";
import type { TurnContext } from "./turn-context.ts";

export type PartType = Extract<EventType, `part.${string}`>;

export type RecordedPart = EventBody<PartType>;

export interface StepRequest {
  readonly agent: Agent;
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
  /** The context of the turn. Undefined outside a turn. */
  readonly context?: Required<TurnContext>;
  /** The output of the turn: the model is told its response format. */
  readonly output?: OutputInterface | undefined;
  /** The provider's calls of earlier replies whose results may come. */
  readonly awaited?: readonly string[];
  /** Undefined if the provider is not asked to cache the prompt. */
  readonly caching?: Caching | undefined;
  /** Undefined if nothing observes the call. */
  readonly observer?: CallObserver | undefined;
}

/** How a request uses the provider's prompt cache. */
export interface Caching {
  readonly ttl: CacheLifetime;
  /** The same for requests whose prompts begin alike: those of a session, and of its forks. */
  readonly key: string;
  /** Whether a later request is expected to read the cached prompt. */
  readonly pays: boolean;
}

export interface CallObserver {
  /** The AI SDK's id of the turn's operation. */
  readonly callId: string;
  readonly started: (event: LanguageModelCallStartEvent) => Promise<void>;
  /** The model has answered; its parts may not all be read yet. */
  readonly ended: (event: LanguageModelCallEndEvent) => Promise<void>;
  /** Runs the call in the contexts of telemetry. */
  readonly execute: NonNullable<Telemetry["executeLanguageModelCall"]>;
  answered(response: {
    readonly request?: LanguageModelRequestMetadata | undefined;
    readonly headers?: Record<string, string> | undefined;
  }): void;
  failed(failure: CallFailure): void;
}

/** How a model call failed: before it answered, by an error in its stream, or by a stream that broke. */
export interface CallFailure {
  readonly kind: "call" | "chunk" | "stream";
  readonly error: unknown;
}

/** The output of a model call: the head of its response, its parts, then its end. */
export type StepOutput =
  | {
      readonly kind: "head";
      /** The content type of the response; undefined if it is unknown. */
      readonly contentType: string | undefined;
    }
  | {
      readonly kind: "part";
      readonly part: RecordedPart;
      /** The output of the tool's input schema, which may not be JSON. */
      readonly parsedInput?: { readonly callId: string; readonly input: unknown };
      /** The error of a `part.error` before its conversion to JSON. */
      readonly error?: unknown;
    }
  | {
      readonly kind: "end";
      readonly finishReason: FinishReason;
      readonly rawFinishReason: string | undefined;
      /** Undefined if the provider reported no usage. */
      readonly usage: TokenUsage | undefined;
      readonly response: ResponseMetadata;
      readonly providerMetadata: ProviderMetadata | undefined;
    };

export interface StepSource {
  readonly name: "language-model-call" | "stream-text";
  /** Makes one model call. Throws the provider's error; stops when the signal aborts. */
  call(request: StepRequest): AsyncGenerator<StepOutput, void, void>;
}
