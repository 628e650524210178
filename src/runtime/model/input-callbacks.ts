/**
 * Calls `onInputStart`, `onInputDelta` and `onInputAvailable` of the user's tools, by the AI SDK's rules.
 * Used by `language-model-call.ts`; `streamText` does it itself.
 */

import type { ToolSet } from "ai";
import { type StepRequest, awaited } from "../../agent/index.ts";
import type { ContentPart } from "./recorded-part.ts";
import { withMessages } from "../../shared/index.ts";

type AnyTool = ToolSet[string];

/** Calls the callbacks of the tool that a part concerns. Undefined if no tool has callbacks. */
export function inputCallbacks({
  agent,
  messages,
  signal,
}: StepRequest): ((part: ContentPart) => Promise<void>) | undefined {
  const tools: ReadonlyMap<string | undefined, AnyTool> = new Map(
    Object.entries(agent.tools ?? {}).filter(([, tool]) => hasCallbacks(tool)),
  );
  if (tools.size === 0) return undefined;
  const names = new Map<string, string>();
  const options = (toolCallId: string) => {
    // The SDK types the context by the tool, which is unknown here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const own = { toolCallId, abortSignal: signal, context: undefined as never };
    return withMessages(own, messages);
  };
  return async (part) => {
    switch (part.type) {
      case "tool-input-start": {
        names.set(part.id, part.toolName);
        const tool = tools.get(part.toolName);
        return await awaited(`tools.${part.toolName}.onInputStart`, () =>
          tool?.onInputStart?.(options(part.id)),
        );
      }
      case "tool-input-delta": {
        const name = names.get(part.id);
        return await awaited(`tools.${name}.onInputDelta`, () =>
          tools
            .get(name)
            ?.onInputDelta?.(Object.assign(options(part.id), { inputTextDelta: part.delta })),
        );
      }
      case "tool-call": {
        if (part.invalid === true) return;
        const input: unknown = part.input;
        return await awaited(`tools.${part.toolName}.onInputAvailable`, () =>
          tools
            .get(part.toolName)
            ?.onInputAvailable?.(Object.assign(options(part.toolCallId), { input })),
        );
      }
      default:
    }
  };
}

function hasCallbacks({ onInputStart, onInputDelta, onInputAvailable }: AnyTool): boolean {
  return [onInputStart, onInputDelta, onInputAvailable].some((callback) => callback !== undefined);
}
