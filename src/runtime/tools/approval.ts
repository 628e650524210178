/** Whether a call needs approval: by an `always` answer, by its tool's `needsApproval`, or by the agent's. */

import type { ModelMessage } from "ai";
import { byId, ownCopy } from "../../events/index.ts";
import type { ApprovalsState, CallPart } from "../../projections/index.ts";
import { type Agent, toolContext, type TurnContext } from "../../agent/index.ts";
import { withMessages } from "../../shared/index.ts";
import type { AnyTool } from "./tool-execution.ts";

/** Runs the `needsApproval` functions for a call. */
export type ApprovalCheck = (question: {
  readonly session: string;
  readonly call: CallPart;
  /** The output of the tool's schema. */
  readonly input: unknown;
  readonly messages: readonly ModelMessage[];
  readonly context: Required<TurnContext>;
}) => Promise<boolean>;

/** The decision, or the check that makes it. */
export type Approval =
  | { readonly kind: "allowed" }
  | { readonly kind: "needed" }
  | { readonly kind: "refused"; readonly reason: string | undefined }
  | { readonly kind: "depends"; readonly isNeeded: ApprovalCheck };

export function approvalOf(
  { toolName }: CallPart,
  tool: Pick<AnyTool, "needsApproval" | "contextSchema">,
  agent: Agent,
  { always }: ApprovalsState,
): Approval {
  const answer = byId(always, toolName);
  if (answer?.approved === true) return { kind: "allowed" };
  if (answer !== undefined) return { kind: "refused", reason: answer.reason };
  // Deprecated in favour of a setting of `streamText`, which this runtime does not run tools with.
  // oxlint-disable-next-line typescript/no-deprecated
  const { needsApproval: byTool = false } = tool;
  const { needsApproval: byAgent } = agent;
  if (byTool === true) return { kind: "needed" };
  if (byTool === false && byAgent === undefined) return { kind: "allowed" };
  return {
    kind: "depends",
    isNeeded: async ({ session, call, input, messages, context: given }) => {
      const { callId, input: recorded } = call;
      const question = { session, callId, toolName, input: ownCopy(recorded) };
      if (await byAgent?.(question)) return true;
      if (typeof byTool !== "function") return false;
      const context = await toolContext(tool, toolName, given);
      return await byTool(input, withMessages({ toolCallId: callId, context }, messages));
    },
  };
}
