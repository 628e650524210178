/** What differs between two prompts beside their messages, and in which lines. Pure. */

import type { JsonValue } from "../events/index.ts";
import type { PromptText, PromptTool, StandingPrompt } from "./sent-prompt.ts";

/** A difference beside the messages. A part without texts is one of an earlier release: only its digest differs. */
export type StandingChange =
  | {
      readonly part: "instructions" | "tool" | "settings";
      readonly kind: "added" | "removed" | "changed";
      /** Of the tool. */
      readonly name?: string;
      readonly lines?: ChangedLines;
    }
  | {
      readonly part: "tools";
      readonly kind: "reordered";
      /** The names of the tools that both prompts have. */
      readonly before: readonly string[];
      readonly after: readonly string[];
    };

/** The lines between the common beginning and the common end of two texts. JSON is written with indents. */
interface ChangedLines {
  /** The number of the first one, from 1. */
  readonly from: number;
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

export function standingChanges(
  before: StandingPrompt,
  after: StandingPrompt,
): readonly StandingChange[] {
  const changes: StandingChange[] = [];
  // Earlier releases recorded no digests of the parts.
  if (isOther(before.instructions, after.instructions))
    changes.push({
      part: "instructions",
      kind: "changed",
      ...linesOf(before.instructions, after.instructions),
    });
  const [old, present] = [toolsByName(before), toolsByName(after)];
  for (const [name, tool] of old) {
    const now = present.get(name);
    if (now === undefined) changes.push({ part: "tool", kind: "removed", name });
    else if (isOther(tool, now))
      changes.push({ part: "tool", kind: "changed", name, ...linesOf(tool, now) });
  }
  for (const name of present.keys())
    if (!old.has(name)) changes.push({ part: "tool", kind: "added", name });
  const isKept = (name: string): boolean => old.has(name) && present.has(name);
  const [one = [], other = []] = [old, present].map((tools) => [...tools.keys()].filter(isKept));
  if (one.some((name, place) => name !== other[place]))
    changes.push({ part: "tools", kind: "reordered", before: one, after: other });
  const [was, is] = [before, after].map(({ settings }) => textOf(settings));
  if (was !== undefined && is !== undefined && was !== is)
    changes.push({ part: "settings", kind: "changed", lines: changedLines(was, is) });
  return changes;
}

function isOther({ digest: was }: PromptText, { digest: is }: PromptText): boolean {
  return was !== undefined && is !== undefined && was !== is;
}

function toolsByName({ tools }: StandingPrompt): ReadonlyMap<string, PromptTool> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

function linesOf(
  before: PromptText,
  after: PromptText,
): { readonly lines: ChangedLines } | undefined {
  if (before.text === undefined || after.text === undefined) return undefined;
  return { lines: changedLines(indentedText(before.text), indentedText(after.text)) };
}

/** A text as people read it: JSON with indents. */
export function indentedText(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? JSON.stringify(value, undefined, 2) : text;
  } catch {
    return text;
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value, undefined, 2);
}

function changedLines(before: string, after: string): ChangedLines {
  const [one, other] = [before.split("\n"), after.split("\n")];
  const most = Math.min(one.length, other.length);
  let head = 0;
  while (head < most && one[head] === other[head]) head += 1;
  let tail = 0;
  while (tail < most - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1;
  return {
    from: head + 1,
    removed: one.slice(head, one.length - tail),
    added: other.slice(head, other.length - tail),
  };
}
