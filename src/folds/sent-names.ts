/** The names of the tools that a request has, by the AI SDK's `activeTools` and `toolOrder`. Pure. */

/** The built-in tool that reads on in cut results. */
export const READER = "read_tool_output";

interface Choice {
  readonly activeTools?: readonly string[];
  readonly toolOrder?: readonly string[];
}

/** @param isAlways - Tools that `activeTools` does not leave out. */
export function sentNames(
  tools: readonly string[],
  { activeTools, toolOrder }: Choice,
  isAlways = (name: string): boolean => name === READER,
): readonly string[] {
  const active = tools.filter((name) => activeTools?.includes(name) !== false || isAlways(name));
  if (toolOrder === undefined) return active;
  const place = (name: string): number => {
    const index = toolOrder.indexOf(name);
    return index === -1 ? toolOrder.length : index;
  };
  return active.toSorted().toSorted((one, other) => place(one) - place(other));
}
