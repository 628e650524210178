/** Runs the tool calls of a step: approval, execution within limits, result. */

export { type CallIdentity, callIdentity } from "./call-identity.ts";
export { type CallAnswer, clientEnding } from "./client-output.ts";
export type { Delegate } from "./delegation.ts";
export { NOT_RUN } from "./tool-execution.ts";
export type { ToolObserver, ToolOutcome, ToolSetup } from "./tool-observer.ts";
export { ToolRunner } from "./tool-runner.ts";
