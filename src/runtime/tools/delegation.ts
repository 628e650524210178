/**
 * A call of `agentTool`: which session runs it, and how the runner asks for that. The ids follow from the
 * call's effect id, so that the session is created once and its message accepted once.
 */

import { hash } from "node:crypto";
import {
  isSessionId,
  segmentOf,
  type JsonValue,
  type ParentCall,
  type StoredError,
} from "../../events/index.ts";
import { agentToolOptions, DEFAULT_MAX_DEPTH } from "../../agent/index.ts";
import type { CallPart } from "../../projections/index.ts";
import { effectIdOf, type SessionRecorder } from "../../state/index.ts";
import type { AnyTool } from "./tool-execution.ts";

/** The session that runs a call. */
export interface Delegation {
  /** The id of the sub-agent's session. */
  readonly child: string;
  readonly parent: ParentCall;
  /** The id of the message with the task. */
  readonly messageId: string;
}

/** Runs a call in its session: creates or resumes it, sends the task once, and waits for its turn. */
export type Delegate = (
  delegation: Delegation,
  input: unknown,
  signal: AbortSignal,
) => Promise<JsonValue>;

/** Undefined for a tool that runs without a sub-agent. */
export function delegationOf(
  tool: AnyTool,
  { callId, toolName }: CallPart,
  step: number,
  recorder: Pick<SessionRecorder, "session" | "state">,
): Delegation | undefined {
  if (agentToolOptions(tool) === undefined) return undefined;
  const { state } = recorder;
  const open = state.toolCalls.open.find((call) => call.callId === callId);
  // A fork that continues the call joins the session of its origin.
  const session = open?.origin ?? recorder.session;
  const messageId = effectIdOf(recorder, step, callId);
  const digest = hash("sha256", messageId).slice(0, 8);
  const depth = ((state.summary.parent ?? state.summary.agentFrom)?.depth ?? 0) + 1;
  return {
    child: `${session}/${segmentOf(toolName)}-${step}-${digest}`,
    parent: { session, step, callId, toolName, depth },
    messageId,
  };
}

/** Why the call may not have a session. */
export function delegationFault(
  tool: AnyTool,
  { child, parent }: Delegation,
): StoredError | undefined {
  const { maxDepth = DEFAULT_MAX_DEPTH } = agentToolOptions(tool) ?? {};
  const why =
    parent.depth > maxDepth
      ? `${maxDepth} agents may run within each other (\`maxDepth\`)`
      : isSessionId(child)
        ? undefined
        : `with that of the call, the id of session ${parent.session} is too long for another session`;
  if (why === undefined) return undefined;
  const message = `The agent ${parent.toolName} was not called: ${why}. Do the task without it.`;
  return { name: "Error", message };
}
