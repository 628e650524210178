/**
 * A tool result that is too long to be shown whole: its beginning, a note that says how much is left
 * out and how to read it, and its end. The log keeps the whole of it.
 */

import { type ModelOutput, isNestedDeeper, MOST_LEVELS, type JsonValue } from "../events/index.ts";
import type { CallPart } from "./history-item.ts";

/** What stays of a result, and what the note about the rest says. */
export interface ResultMark {
  /** Characters from the beginning and from the end. */
  readonly head: number;
  readonly tail: number;
  /** How the call is named to the tool that reads results. */
  readonly call: string;
  /** The name of that tool; without one the note says only how much is left out. */
  readonly reader?: string;
}

/** Characters that are left out: from (included) to (not included). */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/**
 * The text of a result as the model is given it, whole; of several parts one after the other, media
 * left aside. Undefined for a call that has not ended, or whose end is told in words of ours.
 */
export function resultText(part: CallPart): string | undefined {
  const { status } = part.outcome;
  return status === "succeeded" || status === "failed" ? outputText(resultOutput(part)) : undefined;
}

function outputText(output: ModelOutput): string | undefined {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "content":
      return output.value.map((part) => ("text" in part ? part.text : "")).join("");
    case "execution-denied":
      return undefined;
  }
}

/** What a cut leaves out of a text, undefined where that is nothing. Never parts a surrogate pair. */
export function cutGap(
  text: string,
  { head, tail }: Pick<ResultMark, "head" | "tail">,
): Gap | undefined {
  const from = partsPair(text, head) ? head - 1 : head;
  const end = text.length - tail;
  const to = partsPair(text, end) ? end + 1 : end;
  return from < to ? { from, to } : undefined;
}

/** Whether an index lies within a character that takes two units. */
export function partsPair(text: string, index: number): boolean {
  const [before, after] = [text.charCodeAt(index - 1), text.charCodeAt(index)];
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}

/** The text as it is shown. */
export function cutText(text: string, mark: ResultMark): string {
  const gap = cutGap(text, mark);
  if (gap === undefined) return text;
  const head = text.slice(0, gap.from);
  return `${head}${noteAfter(head, text, gap, mark)}${text.slice(gap.to)}`;
}

/** On lines of its own. */
function noteAfter(head: string, { length }: string, { from, to }: Gap, mark: ResultMark): string {
  const how =
    mark.reader === undefined
      ? ""
      : ` To read them: ${mark.reader}(${JSON.stringify({ call: mark.call, from })})`;
  const start = head === "" || head.endsWith("\n") ? "" : "\n";
  return `${start}[${to - from} of ${length} characters left out here.${how}]\n`;
}

/** A call whose result is cut. What is not text stays as it is, in its place. */
export function cutCall(part: CallPart, mark: ResultMark): CallPart {
  const text = resultText(part);
  const gap = text === undefined ? undefined : cutGap(text, mark);
  if (text === undefined || gap === undefined) return part;
  const { outcome } = part;
  if (outcome.status === "failed" && outcome.modelOutput === undefined) {
    const error = { ...outcome.error, message: cutText(text, mark) };
    return { ...part, outcome: { ...outcome, error } };
  }
  if (outcome.status !== "succeeded" && outcome.status !== "failed") return part;
  return {
    ...part,
    outcome: { ...outcome, modelOutput: cutOutput(resultOutput(part), text, gap, mark) },
  };
}

function cutOutput(output: ModelOutput, text: string, gap: Gap, mark: ResultMark): ModelOutput {
  if (output.type === "content") {
    return { ...output, value: cutContent(output.value, text, gap, mark) };
  }
  const isError = output.type === "error-text" || output.type === "error-json";
  // What is left of JSON is no longer JSON.
  return { type: isError ? "error-text" : "text", value: cutText(text, mark) };
}

type Content = Extract<ModelOutput, { type: "content" }>["value"];

function cutContent(content: Content, text: string, gap: Gap, mark: ResultMark): Content {
  let start = 0;
  return content.flatMap((part): Content => {
    if (!("text" in part)) return [part];
    const [first, end] = [start, start + part.text.length];
    start = end;
    const head = text.slice(first, Math.min(end, gap.from));
    const tail = text.slice(Math.max(first, gap.to), end);
    const begins = first <= gap.from && gap.from < end;
    const shown = `${head}${begins ? noteAfter(head, text, gap, mark) : ""}${tail}`;
    return shown === "" && part.text !== "" ? [] : [{ ...part, text: shown }];
  });
}

/** The result of one of our own tools, at whatever point it stands. */
export function resultOutput({ outcome }: CallPart): ModelOutput {
  switch (outcome.status) {
    case "succeeded":
      return outcome.modelOutput ?? plainOutput(outcome.output);
    case "failed":
      return outcome.modelOutput ?? { type: "error-text", value: outcome.error.message };
    case "denied":
    case "refused":
      return outcome.reason === undefined
        ? { type: "execution-denied" }
        : { type: "execution-denied", reason: outcome.reason };
    case "skipped":
      return {
        type: "error-text",
        value: `Not run: ${why(outcome.reason)} before this call was started. It had no effect.`,
      };
    case "unknown":
      return {
        type: "error-text",
        value: `Outcome unknown: this call had been started, then ${why(outcome.reason)}, and nobody saw how it ended. It may have taken effect. Check before you repeat it.`,
      };
    case "running":
    case "approved":
      return { type: "error-text", value: "Still running: this call has not ended." };
    case "waiting":
    case "awaiting-approval":
      return { type: "error-text", value: "Not run yet: this call has not been started." };
  }
}

function why(reason: string): string {
  switch (reason) {
    case "cancelled":
      return "the turn was cancelled";
    case "recovered":
      return "the process died";
    case "timed-out":
      return "the time was up";
    default:
      return "the reply was cut off";
  }
}

/** The result of a tool that the provider ran, by the AI SDK's rules. */
export function providerOutput(output: JsonValue, isError: boolean): ModelOutput {
  return isError && !isTooDeep(output)
    ? { type: "error-json", value: output }
    : plainOutput(output);
}

const checked = new WeakMap<object, boolean>();

/** No client of a provider comes to the end of such a value: each writes it as JSON again. */
function isTooDeep(output: JsonValue): boolean {
  if (typeof output !== "object" || output === null) return false;
  const known = checked.get(output) ?? isNestedDeeper(output, MOST_LEVELS);
  checked.set(output, known);
  return known;
}

function plainOutput(output: JsonValue): ModelOutput {
  if (isTooDeep(output)) {
    const value = `The result cannot be shown: it is nested more than ${MOST_LEVELS} levels deep.`;
    return { type: "error-text", value };
  }
  return typeof output === "string"
    ? { type: "text", value: output }
    : { type: "json", value: output };
}
