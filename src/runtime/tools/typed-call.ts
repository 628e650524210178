/** A call as the AI SDK gives it to callbacks. */

import type { Tool, ToolSet, TypedToolCall } from "ai";
import { ownCopy } from "../../events/index.ts";
import type { CallPart } from "../../projections/index.ts";

/** @param input - The output of the tool's schema. */
export function typedCall(
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
