/** The tools that a request has, by the AI SDK's `activeTools` and `toolOrder`. */

import type { ToolSet } from "ai";
import { sentNames } from "../folds/index.ts";
import { isReader } from "./reader-tool.ts";

interface Equipment {
  readonly tools?: ToolSet;
  readonly activeTools?: readonly string[];
  readonly toolOrder?: readonly string[];
}

/** The active tools in the order of a request. The built-in `read_tool_output` is always active. */
export function sentTools({ tools, ...choice }: Equipment): ToolSet | undefined {
  if (tools === undefined || (choice.activeTools === undefined && choice.toolOrder === undefined))
    return tools;
  const known = new Map(Object.entries(tools));
  const isOwn = (name: string): boolean => {
    const tool = known.get(name);
    return tool !== undefined && isReader(tool);
  };
  const names = sentNames([...known.keys()], choice, isOwn);
  return Object.fromEntries(
    names.flatMap((name) => {
      const tool = known.get(name);
      return tool === undefined ? [] : [[name, tool] as const];
    }),
  );
}
