/** Calls `onInputStart`, `onInputDelta` and `onInputAvailable` of the user's tools, as `streamText` does itself. */

import type { ToolSet } from "ai";
import { type StepRequest, awaited, sentTools, toolContext } from "../../agent/index.ts";
import type { ContentPart } from "./recorded-part.ts";
import { withMessages } from "../../shared/index.ts";

type AnyTool = ToolSet[string];

/** Calls the callbacks of the tool that a part concerns. Undefined if no tool has callbacks. */
export function inputCallbacks({
  agent,
  messages,
  signal,
  context: given,
}: StepRequest): ((part: ContentPart) => Promise<void>) | undefined {
  const tools: ReadonlyMap<string | undefined, AnyTool> = new Map(
    Object.entries(sentTools(agent) ?? {}).filter(([, tool]) => hasCallbacks(tool)),
  );
  if (tools.size === 0) return undefined;
  const names = new Map<string, string>();
  const contexts = new Map<string, unknown>();
  const options = async (toolCallId: string, toolName: string, tool: AnyTool) => {
    if (!contexts.has(toolName))
      contexts.set(toolName, await toolContext(tool, toolName, given ?? {}));
    // The SDK types the context by the tool, which is unknown here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const context = contexts.get(toolName) as never;
    return withMessages({ toolCallId, abortSignal: signal, context }, messages);
  };
  return async (part) => {
    switch (part.type) {
      case "tool-input-start": {
        const { id, toolName } = part;
        names.set(id, toolName);
        const tool = tools.get(toolName);
        if (tool?.onInputStart === undefined) return;
        return await awaited(`tools.${toolName}.onInputStart`, async () =>
          tool.onInputStart?.(await options(id, toolName, tool)),
        );
      }
      case "tool-input-delta": {
        const { id, delta: inputTextDelta } = part;
        const toolName = names.get(id);
        const tool = tools.get(toolName);
        if (toolName === undefined || tool?.onInputDelta === undefined) return;
        return await awaited(`tools.${toolName}.onInputDelta`, async () =>
          tool.onInputDelta?.(Object.assign(await options(id, toolName, tool), { inputTextDelta })),
        );
      }
      case "tool-call": {
        const { toolCallId, toolName } = part;
        const input: unknown = part.input;
        const tool = tools.get(toolName);
        if (part.invalid === true || tool?.onInputAvailable === undefined) return;
        return await awaited(`tools.${toolName}.onInputAvailable`, async () =>
          tool.onInputAvailable?.(
            Object.assign(await options(toolCallId, toolName, tool), { input }),
          ),
        );
      }
      default:
    }
  };
}

function hasCallbacks({ onInputStart, onInputDelta, onInputAvailable }: AnyTool): boolean {
  return [onInputStart, onInputDelta, onInputAvailable].some((callback) => callback !== undefined);
}
