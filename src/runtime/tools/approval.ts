/** Whether a call may run: by a standing answer, by the agent's `toolApproval`, or by its tool's `needsApproval`. */

import type { ModelMessage, Tool, ToolSet, TypedToolCall } from "ai";
import { byId, ownCopy } from "../../events/index.ts";
import type { ApprovalsState, CallPart } from "../../projections/index.ts";
import {
  type Agent,
  approvalStatus,
  sentTools,
  toolContext,
  type TurnContext,
} from "../../agent/index.ts";
import { withMessages } from "../../shared/index.ts";
import type { AnyTool } from "./tool-execution.ts";

/** What is known of a call when the functions of an agent decide on it. */
interface ApprovalQuestion {
  /** The output of the tool's schema. */
  readonly input: unknown;
  readonly messages: readonly ModelMessage[];
  readonly context: Required<TurnContext>;
}

export type Decision =
  | { readonly kind: "allowed" }
  | { readonly kind: "needed"; readonly reason: string | undefined }
  | { readonly kind: "refused"; readonly reason: string | undefined };

/** The decision, or the function that makes it. */
export type Approval =
  | Decision
  | {
      readonly kind: "depends";
      readonly decide: (question: ApprovalQuestion) => Promise<Decision>;
    };

const allowed: Decision = { kind: "allowed" };
const needed: Decision = { kind: "needed", reason: undefined };

/** `isAsked`: a person was asked about the call, so a standing answer decides. */
export function approvalOf(
  call: CallPart,
  tool: AnyTool,
  agent: Agent,
  { always }: ApprovalsState,
  isAsked: boolean,
): Approval {
  const answer = byId(always, call.toolName);
  if (answer?.approved === false) return { kind: "refused", reason: answer.reason };
  const isAllowed = answer !== undefined;
  if (isAllowed && isAsked) return allowed;
  const { toolApproval } = agent;
  if (typeof toolApproval === "function") {
    return depends(isAllowed, ({ input, messages, context }) => {
      const { runtimeContext, toolsContext } = context;
      const tools = sentTools(agent);
      const own = { toolCall: typedCall(call, tool, input), tools, toolsContext, runtimeContext };
      return toolApproval(withMessages(own, messages));
    });
  }
  const rule = byId(toolApproval ?? {}, call.toolName);
  if (rule === undefined || rule === null) return byTool(call, tool, isAllowed);
  if (typeof rule !== "function") return decided(isAllowed, rule);
  return depends(isAllowed, async ({ input, messages, context }) => {
    const { runtimeContext } = context;
    const own = {
      toolCallId: call.callId,
      toolContext: await toolContext(tool, call.toolName, context),
      runtimeContext,
    };
    // The SDK types the input by the tool, which is not known here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return await rule(input as never, withMessages(own, messages));
  });
}

/** The tool's own `needsApproval`, where the agent has no rule for it. */
function byTool({ callId, toolName }: CallPart, tool: AnyTool, isAllowed: boolean): Approval {
  // Deprecated in favour of `toolApproval`; tools that have it still come.
  // oxlint-disable-next-line typescript/no-deprecated
  const { needsApproval = false } = tool;
  if (isAllowed || needsApproval === false) return allowed;
  if (needsApproval === true) return needed;
  return depends(isAllowed, async ({ input, messages, context: given }) => {
    const context = await toolContext(tool, toolName, given);
    const own = withMessages({ toolCallId: callId, context }, messages);
    return (await needsApproval(input, own)) ? "user-approval" : undefined;
  });
}

function depends(isAllowed: boolean, ask: (question: ApprovalQuestion) => unknown): Approval {
  return {
    kind: "depends",
    decide: async (question) => decided(isAllowed, await ask(question)),
  };
}

/** @throws ZodError for a status that the SDK does not have */
function decided(isAllowed: boolean, given: unknown): Decision {
  const { type, reason } = approvalStatus(given);
  switch (type) {
    case "not-applicable":
    case "approved":
      return allowed;
    case "denied":
      return { kind: "refused", reason };
    case "user-approval":
      return isAllowed ? allowed : { kind: "needed", reason };
  }
}

/** The call as the AI SDK gives it to callbacks. */
function typedCall(
  { callId, toolName, title, providerMetadata }: CallPart,
  tool: Pick<Tool, "type" | "metadata">,
  input: unknown,
): TypedToolCall<ToolSet> {
  const call = {
    type: "tool-call" as const,
    toolCallId: callId,
    toolName,
    input,
    ...(title === undefined ? {} : { title }),
    ...(providerMetadata === undefined ? {} : { providerMetadata: ownCopy(providerMetadata) }),
    ...(tool.metadata === undefined ? {} : { toolMetadata: tool.metadata }),
  };
  return tool.type === "dynamic" ? { ...call, dynamic: true } : call;
}
