/** The lifecycle callbacks of the AI SDK's `ToolLoopAgent`, and the events that they get. */

import type {
  GenerateTextAbortEvent,
  GenerateTextEndEvent,
  GenerateTextStartEvent,
  GenerateTextStepEndEvent,
  GenerateTextStepErrorEvent,
  GenerateTextStepStartEvent,
  LanguageModelCallEndEvent,
  LanguageModelCallStartEvent,
  TelemetryOptions,
  ToolExecutionEndEvent,
  ToolExecutionStartEvent,
} from "ai";

export interface LifecycleEvents {
  readonly onStart: GenerateTextStartEvent;
  readonly onStepStart: GenerateTextStepStartEvent;
  readonly onLanguageModelCallStart: LanguageModelCallStartEvent;
  readonly onLanguageModelCallEnd: LanguageModelCallEndEvent;
  readonly onToolExecutionStart: ToolExecutionStartEvent;
  readonly onToolExecutionEnd: ToolExecutionEndEvent;
  readonly onStepEnd: GenerateTextStepEndEvent;
  readonly onStepError: GenerateTextStepErrorEvent;
  readonly onAbort: GenerateTextAbortEvent;
  readonly onEnd: GenerateTextEndEvent;
  readonly onError: { readonly error: unknown };
}

export type LifecycleName = keyof LifecycleEvents;

/** Method parameters are bivariant, so that a callback may name the agent's own tools. */
type Callback<Event> = {
  call(event: Event): PromiseLike<void> | void;
}["call"];

/** The lifecycle callbacks and the telemetry of an agent, by the AI SDK's names. */
export type LifecycleSettings = {
  readonly [Name in LifecycleName]?: Callback<LifecycleEvents[Name]>;
} & {
  /** Which integrations get what. Default: all registered ones get everything but contexts. */
  readonly telemetry?: TelemetryOptions;
  /** @deprecated Use `telemetry`. */
  readonly experimental_telemetry?: TelemetryOptions;
  /** @deprecated Use `onStart`. */
  readonly experimental_onStart?: Callback<LifecycleEvents["onStart"]>;
  /** @deprecated Use `onStepStart`. */
  readonly experimental_onStepStart?: Callback<LifecycleEvents["onStepStart"]>;
  /** @deprecated Use `onStepEnd`. */
  readonly onStepFinish?: Callback<LifecycleEvents["onStepEnd"]>;
  /** @deprecated Use `onEnd`. */
  readonly onFinish?: Callback<LifecycleEvents["onEnd"]>;
};
