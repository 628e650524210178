/** Observes one run of a tool, for lifecycle callbacks and telemetry. */

import type { ModelMessage } from "ai";
import type { Agent, TurnContext } from "../../agent/index.ts";
import type { CallPart } from "../../projections/index.ts";

export interface ToolSetup {
  readonly agent: Agent;
  readonly call: CallPart;
  /** The output of the tool's input schema. */
  readonly input: unknown;
  readonly messages: readonly ModelMessage[];
  readonly context: Required<TurnContext>;
  readonly toolContext: unknown;
  readonly signal: AbortSignal;
}

export type ToolOutcome =
  | { readonly kind: "succeeded"; readonly output: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

export interface ToolObserver {
  /** Runs the tool in the contexts of telemetry. */
  run<Value>(work: () => PromiseLike<Value>): PromiseLike<Value>;
  /** Called with the tool's own output or error, before their conversion to JSON. */
  answered(outcome: ToolOutcome): void;
}
