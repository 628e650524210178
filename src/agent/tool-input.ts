/** Types that follow from an agent's tools. */

import type { InferToolInput, InferUITools, Tool, ToolSet, UIMessage } from "ai";
import type { SessionEvent } from "../events/index.ts";

type ToolsOf<Given> = Given extends { readonly tools: infer Tools extends ToolSet }
  ? Tools
  : ToolSet;

/**
 * The UI message of an agent, as the AI SDK's type of this name has it for `ToolLoopAgent`.
 * @example
 * const agent = { model, tools: { weather } } satisfies Agent;
 * type Message = InferAgentUIMessage<typeof agent>;
 */
export type InferAgentUIMessage<Given, Metadata = unknown> = UIMessage<
  Metadata,
  never,
  InferUITools<ToolsOf<Given>>
>;

type CallEvent = SessionEvent<"part.tool-call">;

type CallOf<Given extends Tool> = CallEvent & {
  readonly data: CallEvent["data"] & { readonly input: InferToolInput<Given> };
};

/**
 * Whether an event is a valid call of a tool; then `event.data.input` has the type of its input. The log holds
 * JSON: a schema that makes dates or other objects has another type than what is recorded.
 * @example
 * if (isCallOf(event, "weather", weather)) console.log(event.data.input.city);
 */
export function isCallOf<Given extends Tool>(
  event: SessionEvent,
  toolName: string,
  _tool: Given,
): event is CallOf<Given> {
  return (
    event.type === "part.tool-call" &&
    event.data.toolName === toolName &&
    event.data.invalid !== true
  );
}
