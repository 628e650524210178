/** The conversation as plain text for the summarising model: no media, no tool protocol. Pure. */

import type { ModelOutput } from "../../events/index.ts";
import {
  cutItem,
  type ContextView,
  type HistoryItem,
  type HistoryPart,
} from "../../projections/index.ts";
import { requestText } from "./request-text.ts";
import type { ShownUnit } from "./shown-units.ts";

/** The most characters of a part, if parts are cut: three quarters from its beginning, the rest from its end. */
const CAPPED = 2000;

/** Pruned results are left out; cut results are cut here too. */
export function unitText({ items }: ShownUnit, view: ContextView, capped: boolean): string {
  const pruned = new Set(
    view.prunings.flatMap(({ calls }) => calls.map(({ step, callId }) => `${step} ${callId}`)),
  );
  const cut = (text: string): string => (capped ? cutPart(text) : text);
  return items
    .map((item) => cutItem(item, view))
    .flatMap((item) => itemLines(item, (step, callId) => pruned.has(`${step} ${callId}`), cut))
    .join("\n");
}

function cutPart(text: string): string {
  if (text.length <= CAPPED) return text;
  const head = Math.floor(CAPPED * 0.75);
  const tail = CAPPED - head;
  return `${text.slice(0, head)}\n[${text.length - CAPPED} characters left out]\n${text.slice(-tail)}`;
}

function itemLines(
  item: HistoryItem,
  isPruned: (step: number, callId: string) => boolean,
  cut: (text: string) => string,
): readonly string[] {
  switch (item.kind) {
    case "user":
      return [`USER: ${cut(requestText(item))}`];
    case "note":
    case "turn-end":
      return [];
    case "step":
      return item.parts.flatMap((part) => {
        const pruned = part.kind === "call" && isPruned(item.step, part.callId);
        return partLines(part, pruned, cut);
      });
  }
}

function partLines(
  part: HistoryPart,
  pruned: boolean,
  cut: (text: string) => string,
): readonly string[] {
  switch (part.kind) {
    case "text":
      return part.text.trim() === "" ? [] : [`ASSISTANT: ${cut(part.text)}`];
    case "call":
      return [
        `CALL of ${part.toolName}: ${cut(JSON.stringify(part.input))}`,
        `RESULT: ${pruned ? "[cleared]" : cut(outcomeText(part.outcome))}`,
      ];
    case "provider-call":
      return [`CALL of ${part.toolName}: ${cut(JSON.stringify(part.input))}`];
    case "provider-result":
      return [`RESULT of ${part.toolName}: ${cut(withoutMedia(part.output))}`];
    case "file":
      return [`ASSISTANT: [file: ${part.mediaType}]`];
    case "reasoning":
    case "reasoning-file":
    case "custom":
    case "source":
    case "error":
      return [];
  }
}

function outcomeText(outcome: Extract<HistoryPart, { readonly kind: "call" }>["outcome"]): string {
  switch (outcome.status) {
    case "succeeded":
      return withoutMedia(
        outcome.modelOutput === undefined ? outcome.output : outputValue(outcome.modelOutput),
      );
    case "failed":
      return `failed: ${outcome.error.message}`;
    case "denied":
      return `denied${outcome.reason === undefined ? "" : `: ${outcome.reason}`}`;
    default:
      return outcome.status;
  }
}

function outputValue(output: ModelOutput): unknown {
  return "value" in output ? output.value : output;
}

/** Longer text without a space counts as the content of a file. */
const LONGEST_WORD = 1000;
/** The same within other text: the rest of a file's content that was cut. */
const DATA = /[\w+/=-]{1001,}/g;

/** The length replaces text that looks like a file's content. */
function withoutMedia(value: unknown): string {
  if (typeof value === "string") return strip(value);
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "string" ? strip(inner) : inner,
  );
}

function strip(text: string): string {
  return text.length > LONGEST_WORD && !/\s/.test(text)
    ? `[${text.length} characters of data]`
    : text.replaceAll(DATA, ({ length }) => `[${length} characters of data]`);
}
