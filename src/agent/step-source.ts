/**
 * How one model call is made. There are two ways, with the same recorded parts: the AI SDK's
 * primitive (the light one, the default) and `streamText` (for its telemetry and transforms).
 */

import type { ModelMessage } from "ai";
import type {
  EventBody,
  EventType,
  FinishReason,
  ProviderMetadata,
  ResponseMetadata,
  TokenUsage,
} from "../events/index.ts";
import type { Agent } from "./agent.ts";

export type PartType = Extract<EventType, `part.${string}`>;

/** A part as it is to be recorded. */
export type RecordedPart = EventBody<PartType>;

export interface StepRequest {
  readonly agent: Agent;
  readonly messages: readonly ModelMessage[];
  readonly signal: AbortSignal;
}

/** What came out of a model call: what is known of the answer, its parts as they come, then how it ended. */
export type StepOutput =
  | {
      readonly kind: "head";
      /** What the server calls its answer; undefined where there was none, or it did not say. */
      readonly contentType: string | undefined;
    }
  | {
      readonly kind: "part";
      readonly part: RecordedPart;
      /** The input of a tool call as its schema made it, which JSON may not be able to hold. */
      readonly parsedInput?: { readonly callId: string; readonly input: unknown };
      /** The error of a `part.error`, before it was brought into JSON. */
      readonly error?: unknown;
    }
  | {
      readonly kind: "end";
      readonly finishReason: FinishReason;
      readonly rawFinishReason: string | undefined;
      /** Undefined where the provider told no figures. */
      readonly usage: TokenUsage | undefined;
      readonly response: ResponseMetadata;
      readonly providerMetadata: ProviderMetadata | undefined;
    };

export interface StepSource {
  readonly name: "language-model-call" | "stream-text";
  /** One model call. Throws what the provider threw; stops when the signal aborts. */
  call(request: StepRequest): AsyncGenerator<StepOutput, void, void>;
}
