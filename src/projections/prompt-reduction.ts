/**
 * The messages that a reduction reaches, as plain text: no provider refuses them for their form. The newest user
 * message stays as it is. Pure.
 */

import type { ModelMessage, ToolResultPart } from "ai";
import { deepFreeze } from "../events/index.ts";
import type { ContextView, ViewReduction } from "./context-view.ts";
import type { HistoryItem } from "./history-item.ts";
import type { PromptEntry } from "./prompt-step.ts";
import { outputText } from "./shown-result.ts";

type Form = "text" | "left-out";
type Place = "before" | "since";

const headings: Readonly<Record<Place, Readonly<Record<Form, string>>>> = {
  before: {
    text: "[The conversation so far, as plain text: the provider refused it in its own form.]",
    "left-out": "[The conversation so far is left out: the provider refused it in every form.]",
  },
  since: {
    text: "[What you did after the message above, as plain text: the provider refused it in its own form. Go on from there.]",
    "left-out":
      "[What you did after the message above is left out: the provider refused it in every form. Calls may have taken effect: check before you repeat one.]",
  },
};

/** The entries of a prompt, those in a row that a reduction reaches as one. */
export function reducedEntries(
  entries: readonly PromptEntry[],
  { reductions }: ContextView,
): readonly PromptEntry[] {
  if (reductions === undefined) return entries;
  const forms = formsOf(entries, reductions);
  if (!forms.some((form) => form !== undefined)) return entries;
  const sent: PromptEntry[] = [];
  let place: Place = "before";
  for (let index = 0; index < entries.length;) {
    const next = forms.findIndex((form, at) => at >= index && form === undefined);
    const end = next === -1 ? entries.length : next;
    if (end > index)
      sent.push(...asText(entries.slice(index, end), forms.slice(index, end), place));
    const entry = entries[end];
    if (entry !== undefined) sent.push(entry);
    if (entry?.origin.kind === "user") place = "since";
    index = end + 1;
  }
  return sent;
}

/** Where two rungs reach an entry, the later one holds. Undefined where none does. */
function formsOf(
  entries: readonly PromptEntry[],
  reductions: readonly ViewReduction[],
): readonly (Form | undefined)[] {
  const [isLeftOut, isText] = (["newest-only", "as-text"] as const).map((rung) => {
    const last = reductions.findLast((one) => one.rung === rung);
    return last === undefined ? () => false : reachOf(entries, last);
  });
  return entries.map((entry, index) =>
    isLeftOut?.(entry, index) === true
      ? "left-out"
      : isText?.(entry, index) === true
        ? "text"
        : undefined,
  );
}

/** Whether an item is sent as text or not at all. */
export function isReduced(
  items: readonly HistoryItem[],
  { reductions = [] }: ContextView,
): (item: HistoryItem) => boolean {
  const reaches = reductions.flatMap(({ rung, to }) => {
    if (rung === "without-media") return [];
    const kept = items.findLast((item) => item.kind === "user" && item.position <= to);
    return [{ to, kept: kept?.position }];
  });
  return ({ position }) => reaches.some(({ to, kept }) => position <= to && position !== kept);
}

function reachOf(
  entries: readonly PromptEntry[],
  { to, position }: ViewReduction,
): (entry: PromptEntry, index: number) => boolean {
  const isOld = ({ origin }: PromptEntry): boolean => origin.position <= to;
  const end = entries.findLastIndex((one) => isOld(one) && one.origin.kind !== "prepared");
  const kept = entries.findLast((one) => isOld(one) && one.origin.kind === "user");
  return ({ origin }, index) => {
    if (index > end) return false;
    // A summary that was written later is to be read.
    if (origin.kind === "summary") return origin.position < position;
    return origin.kind !== "user" || origin.position !== kept?.origin.position;
  };
}

interface Made {
  readonly place: Place;
  readonly from: readonly (readonly [ModelMessage, Form | undefined])[];
  readonly sent: readonly PromptEntry[];
}

const made = new WeakMap<ModelMessage, Made>();

/** The same object for the same messages, so that it is measured and hashed once. */
function asText(
  entries: readonly PromptEntry[],
  forms: readonly (Form | undefined)[],
  place: Place,
): readonly PromptEntry[] {
  const [first] = entries;
  if (first === undefined) return [];
  const known = made.get(first.message);
  const isSame =
    known?.place === place &&
    known.from.length === entries.length &&
    known.from.every(
      ([message, form], index) => message === entries[index]?.message && form === forms[index],
    );
  if (isSame) return known.sent;
  const content = textOf(entries, forms, headings[place]);
  const origin = { kind: "as-text", position: first.origin.position } as const;
  const sent: readonly PromptEntry[] = deepFreeze(
    content === "" ? [] : [{ message: { role: "user", content }, origin }],
  );
  const from = entries.map(({ message }, index) => [message, forms[index]] as const);
  made.set(first.message, { place, from, sent });
  return sent;
}

function textOf(
  entries: readonly PromptEntry[],
  forms: readonly (Form | undefined)[],
  heading: Readonly<Record<Form, string>>,
): string {
  const lines = entries.flatMap((entry, index) =>
    forms[index] === "text" ? entryLines(entry) : [],
  );
  const leftOut = forms.includes("left-out") ? [heading["left-out"]] : [];
  const text = lines.length > 0 ? [heading.text, ...lines] : [];
  return readable([...leftOut, ...text].join("\n\n"));
}

/** Without halves of surrogate pairs and control characters, which some providers cannot read. */
function readable(text: string): string {
  return text.toWellFormed().replaceAll(/[^\P{Cc}\t\n\r]/gu, "");
}

function entryLines({ message, origin }: PromptEntry): readonly string[] {
  switch (message.role) {
    case "system":
      return [message.content];
    case "user": {
      const { content } = message;
      const text = typeof content === "string" ? content : content.map(userPart).join("\n");
      return [origin.kind === "user" ? `User: ${text}` : text];
    }
    case "assistant": {
      const { content } = message;
      return typeof content === "string" ? [`Assistant: ${content}`] : content.flatMap(replyPart);
    }
    case "tool":
      return message.content.flatMap((part) =>
        part.type === "tool-result" ? [resultLine(part)] : [],
      );
  }
}

type Content<Role extends ModelMessage["role"]> = Exclude<
  Extract<ModelMessage, { readonly role: Role }>["content"],
  string
>[number];

function userPart(part: Content<"user">): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "file":
      return `[file: ${part.filename ?? part.mediaType}]`;
    case "image":
      return "[file: image]";
  }
}

/** Reasoning is for its provider alone. */
function replyPart(part: Content<"assistant">): readonly string[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [`Assistant: ${part.text}`];
    case "tool-call":
      return [`Assistant called ${part.toolName} with ${JSON.stringify(part.input)}`];
    case "tool-result":
      return [resultLine(part)];
    case "file":
      return [`Assistant: [file: ${part.filename ?? part.mediaType}]`];
    case "reasoning":
    case "reasoning-file":
    case "custom":
    case "tool-approval-request":
      return [];
  }
}

function resultLine({ toolName, output }: ToolResultPart): string {
  const reason = output.type === "execution-denied" ? output.reason : undefined;
  const denied = `denied${reason === undefined ? "" : `: ${reason}`}`;
  return `Result of ${toolName}: ${outputText(output, "[file]", "\n") ?? denied}`;
}
