/** Tools that no request could ever have are refused when an agent is given. */

import type { ToolSet } from "ai";
import { z } from "zod";
import { nameRefusal } from "../context/index.ts";
import { TurnlogError, type ModelName } from "../events/index.ts";
import { uncompiled } from "../validation/index.ts";
import { isToolSearch } from "./tool-search.ts";

/** How the SDK marks a tool that calls others in this process; a provider's, such as code execution, works. */
const localCaller = z.looseObject({
  experimental_toolCaller: z.looseObject({ type: z.literal("local") }),
});

/** @throws TurnlogError `INVALID_INPUT` */
export function checkTools(tools: ToolSet = {}, model: ModelName): void {
  const all = Object.entries(tools);
  const isFound = all.some(([, tool]) => isToolSearch(tool));
  for (const [name, tool] of all) {
    const why = refusal(name, tool, isFound, model);
    if (why === undefined) continue;
    const option = `agent.tools[${JSON.stringify(name)}]`;
    throw new TurnlogError("INVALID_INPUT", `\`${option}\` ${why}`, { details: { option } });
  }
}

/** @param isFound - Whether another tool finds the deferred ones. */
function refusal(
  name: string,
  tool: ToolSet[string],
  isFound: boolean,
  model: ModelName,
): string | undefined {
  if (localCaller.safeParse(tool, uncompiled).success)
    return "calls other tools by code (`experimental_toolCallers`): every tool is called by the model.";
  if (tool.deferLoading === true && isToolSearch(tool))
    return "searches for tools: it must not defer its own loading.";
  if (tool.deferLoading === true && !isFound)
    return "defers its loading, and no tool finds it: add `toolSearch()` to the tools.";
  const form = tool.type === "provider" ? undefined : nameRefusal(name, model);
  return form === undefined
    ? undefined
    : `has a name that ${model.modelId} (${model.provider}) refuses. A name must have ${form}: rename the tool.`;
}
