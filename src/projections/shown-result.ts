/**
 * Tool results as the model is shown them. Each end of a call has its own words: a model that takes "unknown"
 * for "failed" repeats a payment. A long result keeps its beginning and its end; the log keeps all of it.
 */

import { type ModelOutput, isNestedDeeper, MOST_LEVELS, type JsonValue } from "../events/index.ts";
import type { CallPart } from "./history-item.ts";

export interface ResultMark {
  /** Characters that stay at the beginning and at the end. */
  readonly head: number;
  readonly tail: number;
  readonly call: string;
  /** Without it, the note has only the number of characters. */
  readonly reader?: string;
}

/** The characters that are left out: `from` included, `to` not. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** Without media. Undefined for a call that has not ended or has no result of its own. */
export function resultText(part: CallPart): string | undefined {
  const { status } = part.outcome;
  return status === "succeeded" || status === "failed" ? outputText(resultOutput(part)) : undefined;
}

/** Undefined for a denial. `file` stands for what is no text, `between` for the end of a part. */
export function outputText(output: ModelOutput, file = "", between = ""): string | undefined {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "content":
      // Deprecated parts of the SDK still occur, and other parts may have a field `text`.
      // oxlint-disable-next-line typescript/no-deprecated
      return output.value.map((part) => (part.type === "text" ? part.text : file)).join(between);
    case "execution-denied":
      return undefined;
  }
}

/** The part of a text that a cut leaves out, if any. Never splits a surrogate pair. */
export function cutGap(
  text: string,
  { head, tail }: Pick<ResultMark, "head" | "tail">,
): Gap | undefined {
  const from = partsPair(text, head) ? head - 1 : head;
  const end = text.length - tail;
  const to = partsPair(text, end) ? end + 1 : end;
  return from < to ? { from, to } : undefined;
}

export function partsPair(text: string, index: number): boolean {
  const [before, after] = [text.charCodeAt(index - 1), text.charCodeAt(index)];
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
}

export function cutText(text: string, mark: ResultMark): string {
  const gap = cutGap(text, mark);
  if (gap === undefined) return text;
  const head = text.slice(0, gap.from);
  return `${head}${noteAfter(head, text, gap, mark)}${text.slice(gap.to)}`;
}

/** The note, on its own line. */
function noteAfter(head: string, { length }: string, { from, to }: Gap, mark: ResultMark): string {
  const how =
    mark.reader === undefined
      ? ""
      : ` To read them: ${mark.reader}(${JSON.stringify({ call: mark.call, from })})`;
  const start = head === "" || head.endsWith("\n") ? "" : "\n";
  return `${start}[${to - from} of ${length} characters left out here.${how}]\n`;
}

/** A call with its result cut. Parts that are not text stay. */
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
  // Cut JSON is no longer JSON.
  return { type: isError ? "error-text" : "text", value: cutText(text, mark) };
}

type Content = Extract<ModelOutput, { type: "content" }>["value"];

function cutContent(content: Content, text: string, gap: Gap, mark: ResultMark): Content {
  let start = 0;
  return content.flatMap((part): Content => {
    // oxlint-disable-next-line typescript/no-deprecated
    if (part.type !== "text") return [part];
    const [first, end] = [start, start + part.text.length];
    start = end;
    const head = text.slice(first, Math.min(end, gap.from));
    const tail = text.slice(Math.max(first, gap.to), end);
    const begins = first <= gap.from && gap.from < end;
    const shown = `${head}${begins ? noteAfter(head, text, gap, mark) : ""}${tail}`;
    return shown === "" && part.text !== "" ? [] : [{ ...part, text: shown }];
  });
}

/** The result of a call to one of our own tools, in any state. */
export function resultOutput({ outcome, outputRequest }: CallPart): ModelOutput {
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
        value:
          outputRequest === undefined
            ? `Not run: ${why(outcome.reason)} before this call was started. It had no effect.`
            : `No output: ${why(outcome.reason)} before the client answered this call. Whether the client acted on it is not known.`,
      };
    case "unknown":
      return {
        type: "error-text",
        value: `Outcome unknown: this call had been started, then ${why(outcome.reason)}, and nobody saw how it ended. It may have taken effect. Check before you repeat it.`,
      };
    case "running":
    case "approved":
      return { type: "error-text", value: "Still running: this call has not ended." };
    case "awaiting-output":
      return { type: "error-text", value: "No output yet: the client has not answered this call." };
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

export function providerOutput(output: JsonValue, isError: boolean): ModelOutput {
  return isError && !isTooDeep(output)
    ? { type: "error-json", value: output }
    : plainOutput(output);
}

const checked = new WeakMap<object, boolean>();

/** The SDK's providers serialise a result again, which fails for such a value. */
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
