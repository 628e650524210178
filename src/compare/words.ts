/** Sentences about what differs between two lanes: each names the step or turn and the thing. Pure. */

import { isDeepStrictEqual } from "node:util";
import {
  cutShort,
  visibleWord,
  type JsonValue,
  type ModelName,
  parsedJson,
  isRecord,
} from "../events/index.ts";
import { innermostDifference } from "../replay/index.ts";
import type { PromptTool, StandingChange, StandingPrompt } from "../projections/index.ts";
import type { LaneCall, LaneStep, LaneTurn } from "./lane.ts";

/** Most characters of a value in a sentence. */
const EXCERPT = 80;
/** Characters before the first different one, where a value is cut. */
const LEAD = 20;

export function modelText({ provider, modelId }: ModelName): string {
  return visibleWord(`${provider}:${modelId}`);
}

function json(value: unknown): string {
  return value === undefined ? "absent" : (JSON.stringify(value) ?? "absent");
}

export function callText({ toolName, input }: Pick<LaneCall, "toolName" | "input">): string {
  return `${visibleWord(toolName)} with ${cutShort(json(input), EXCERPT)}`;
}

/** Two different values, each cut around where they begin to differ. */
export function apart(is: unknown, was: unknown): readonly [is: string, was: string] {
  const [one, other] = [json(is), json(was)];
  let head = 0;
  while (head < one.length && one[head] === other[head]) head += 1;
  const from = head <= EXCERPT - LEAD ? 0 : head - LEAD;
  const cut = (text: string): string =>
    (from === 0 ? "" : "…") + cutShort(text.slice(from), EXCERPT).toWellFormed();
  return [cut(one), cut(other)];
}

/** The innermost path at which two values differ, in words. */
export function valueDifference(now: unknown, before: unknown): string {
  const { path, was, is } = innermostDifference(before, now);
  const [shown, other] = apart(is, was);
  return `${path.length === 0 ? "it" : visibleWord(`\`${path.join(".")}\``)} is ${shown} and was ${other}`;
}

/** `The instructions have changed: line 3 was "…" and is "…".` */
export function standingSentence(
  change: StandingChange,
  was: StandingPrompt,
  is: StandingPrompt,
): string {
  if (change.part === "tools") return "The order of the tools has changed.";
  const name = visibleWord(change.name ?? "");
  switch (change.part) {
    case "instructions":
      return `The instructions have changed${linesText(change)}.`;
    case "settings":
      return `The settings of the call differ: ${valueDifference(is.settings, was.settings)}.`;
    case "tool":
      if (change.kind === "added") return `The tool ${name} is new.`;
      if (change.kind === "removed") return `The tool ${name} is gone.`;
      return `The tool ${name} has another ${definitionParts(change.name, was, is)}${linesText(change)}.`;
  }
}

function definitionParts(
  name: string | undefined,
  was: StandingPrompt,
  is: StandingPrompt,
): string {
  const [before, after] = [was, is].map(({ tools }) =>
    definitionOf(tools.find((tool) => tool.name === name)),
  );
  if (before === undefined || after === undefined) return "description or input schema";
  const parts = ["description", "inputSchema"].filter(
    (part) => !isDeepStrictEqual(before[part], after[part]),
  );
  return parts.map((part) => (part === "description" ? part : "input schema")).join(" and ");
}

function definitionOf(tool: PromptTool | undefined): Readonly<Record<string, unknown>> | undefined {
  // No JSON if it was redacted.
  const value = parsedJson(tool?.text ?? "");
  return isRecord(value) ? value : undefined;
}

function linesText(change: Exclude<StandingChange, { readonly part: "tools" }>): string {
  if (change.lines === undefined) return "";
  const { from, removed, added } = change.lines;
  const [is, was] = apart(added[0]?.trim(), removed[0]?.trim());
  const more = Math.max(removed.length, added.length) - 1;
  return `: line ${from} was ${was} and is ${is}${more > 0 ? `, and ${more} more differ` : ""}`;
}

/** What a step did, behind its number: `calls refund with {"order":17}`. */
export function doneText({ calls: [call], text, end }: LaneStep): string {
  if (call !== undefined) return `calls ${callText(call)}`;
  return text === "" ? `ended with ${end}` : `says ${cutShort(json(text), EXCERPT)}`;
}

/** Of a turn, without its number: `ended at the limit of 5 steps`. */
export function endText({ end, maxSteps, error }: LaneTurn): string {
  switch (end) {
    case "stop":
      return error === undefined
        ? "finished"
        : `finished without the output that was asked for (${cutShort(error, EXCERPT)})`;
    case "length":
      return "ended at the model's limit of output";
    case "content-filter":
      return "was ended by the provider's content filter";
    case "max-steps":
      return `ended at the limit of ${maxSteps} ${maxSteps === 1 ? "step" : "steps"}`;
    case "cancelled":
      return "was cancelled";
    case "failed":
      return `failed with ${cutShort(json(error), EXCERPT)}`;
    case "interrupted":
      return "was interrupted";
    case "timed-out":
      return "ran out of time";
    case "repeating":
      return "was ended since the model repeated itself";
    case "stop-condition":
      return "ended at a condition of `stopWhen`";
    case "out-of-budget":
      return "ended at a limit of spending";
    case "unfinished":
      return "has not ended";
  }
}

export function outcomeText({ outcome, error }: LaneCall): string {
  return error === undefined ? outcome : `${outcome} (${cutShort(json(error), EXCERPT)})`;
}

export function sameJson(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return isDeepStrictEqual(one, other);
}
