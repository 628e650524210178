/** Runs the tool calls of a step: approvals, limits of time and number, results. */

export { type CallIdentity, callIdentity } from "./call-identity.ts";
export { NOT_RUN } from "./tool-execution.ts";
export { ToolRunner } from "./tool-runner.ts";
