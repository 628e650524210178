/** The tools that a request has, by the AI SDK's `activeTools` and `toolOrder`. */

import type { ToolSet } from "ai";
import { isReader } from "./reader-tool.ts";

interface Equipment {
  readonly tools?: ToolSet;
  readonly activeTools?: readonly string[];
  readonly toolOrder?: readonly string[];
}

/** The active tools in the order of a request. The built-in `read_tool_output` is always active. */
export function sentTools({ tools, activeTools, toolOrder }: Equipment): ToolSet | undefined {
  if (tools === undefined || (activeTools === undefined && toolOrder === undefined)) return tools;
  const active = Object.entries(tools).filter(
    ([name, tool]) => activeTools?.includes(name) !== false || isReader(tool),
  );
  return Object.fromEntries(toolOrder === undefined ? active : ordered(active, toolOrder));
}

function ordered(
  tools: readonly (readonly [string, ToolSet[string]])[],
  order: readonly string[],
): readonly (readonly [string, ToolSet[string]])[] {
  const place = (name: string): number => {
    const index = order.indexOf(name);
    return index === -1 ? order.length : index;
  };
  return tools.toSorted(
    ([one], [other]) => place(one) - place(other) || (one < other ? -1 : Number(one > other)),
  );
}
