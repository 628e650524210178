/** Calls a tool as an agent's loop does: the input goes through its schema first. */
import { asSchema, type Tool } from "ai";

export async function callTool<Input, Output>(
  tool: Tool<Input, Output> | undefined,
  input: unknown,
  abortSignal?: AbortSignal,
): Promise<Output> {
  if (tool?.execute === undefined)
    throw new Error("There is no such tool, or it cannot be executed.");
  const checked = await asSchema(tool.inputSchema).validate?.(input);
  if (checked?.success !== true) throw checked?.error ?? new Error("The tool has no schema.");
  const output = tool.execute(checked.value, {
    toolCallId: "call-1",
    messages: [],
    context: {},
    ...(abortSignal && { abortSignal }),
  });
  if (typeof output === "object" && output !== null && Symbol.asyncIterator in output) {
    throw new Error("The tool streams its output.");
  }
  return output;
}
