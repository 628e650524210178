/** The history of a session as lines of text, like a transcript. Pure. */

import { isReport, type StoredError } from "../../events/index.ts";
import type {
  ApprovalDecision,
  CallPart,
  HistoryItem,
  HistoryPart,
  ProviderCallPart,
  StepItem,
} from "../../projections/index.ts";
import type { SessionView } from "../../state/index.ts";
import {
  type ContextNotice,
  callLabel,
  outcomeLabel,
  usualLengths,
  type Lengths,
  contentText,
  dateAndTime,
  excerpt,
  fileText,
  indented,
  jsonExcerpt,
  shortened,
  shortenedJson,
} from "../wording/index.ts";
import { type Channel, visibleName, visibleText } from "../output/index.ts";
import { leftMark, type LeftAt } from "./show-branches.ts";

export interface ShownHistory {
  /** The items of all branches in the order of the log. */
  readonly items: readonly HistoryItem[];
  readonly queue: SessionView["queue"];
  readonly leftAt: LeftAt;
}

/** @param notices - Notices about the prompt in the order of the log, shown where they happened. */
export function historyLines(
  { items, queue, leftAt }: ShownHistory,
  notices: readonly ContextNotice[],
  data: Channel,
  lengths: Lengths = usualLengths,
): readonly string[] {
  const first = items[0]?.position ?? Number.POSITIVE_INFINITY;
  return [
    ...noticeLines(notices, 0, first, data, leftAt),
    ...items.flatMap((item, index) => {
      const next = items[index + 1]?.position ?? Number.POSITIVE_INFINITY;
      const [head = "", ...content] = itemLines(item, data, lengths);
      return [
        `${leftMark(item.position, leftAt)}${head}`,
        ...content,
        "",
        ...noticeLines(notices, item.position, next, data, leftAt),
      ];
    }),
    ...queue.flatMap(({ delivery, notBefore, content }) => [
      data.style("bold", `Waiting (${delivery}${timeWords(notBefore)})`),
      ...indented(visibleText(contentText(content))),
      "",
    ]),
  ];
}

function timeWords(notBefore: number | undefined): string {
  return notBefore === undefined ? "" : `, not before ${new Date(notBefore).toISOString()}`;
}

/** The notices from a position on, before another one. */
function noticeLines(
  notices: readonly ContextNotice[],
  from: number,
  before: number,
  data: Channel,
  leftAt: LeftAt,
): readonly string[] {
  return notices
    .filter(({ event }) => event.position >= from && event.position < before)
    .flatMap(({ event, text }) => [
      `${leftMark(event.position, leftAt)}${data.style("bold", "Context")}${data.style("dim", ` · ${event.position} · ${dateAndTime(event.time)}`)}`,
      ...indented(visibleText(text)),
      "",
    ]);
}

function itemLines(item: HistoryItem, data: Channel, lengths: Lengths): readonly string[] {
  const where = data.style("dim", ` · ${item.position} · ${dateAndTime(item.time)}`);
  switch (item.kind) {
    case "user":
      return [
        `${data.style("bold", "You")}${where}`,
        ...indented(visibleText(shortened(contentText(item.content), lengths.text))),
      ];
    case "step":
      return [
        `${data.style("bold", visibleName(item.model.modelId))} step ${item.step}${endOf(item)}${where}`,
        ...item.parts.flatMap((part) => partLines(part, data, lengths)),
        ...(item.error === undefined ? [] : [errorLine(item.error)]),
      ];
    case "note":
      return [
        `${data.style("bold", "Told to the model")}${where}`,
        ...indented(visibleText(shortened(item.text, lengths.text))),
      ];
    case "turn-end":
      return [
        data.style(
          "dim",
          `Turn ${item.turn} ended: ${item.reason}${item.empty === true ? ", the model said nothing" : ""}`,
        ),
      ];
  }
}

function endOf({ status, finishReason, attempt }: StepItem): string {
  const again = attempt > 1 ? `, attempt ${attempt}` : "";
  if (status !== "finished") return `${again}, ${status}`;
  return finishReason === "stop" || finishReason === "tool-calls"
    ? again
    : `${again}, ${finishReason}`;
}

function partLines(part: HistoryPart, data: Channel, lengths: Lengths): readonly string[] {
  switch (part.kind) {
    case "text":
      return indented(visibleText(shortened(part.text, lengths.text)));
    case "reasoning":
      if (part.dropped === true) return [data.style("dim", "  [reasoning dropped]")];
      return indented(visibleText(shortened(part.text, lengths.text))).map((line) =>
        data.style("dim", line),
      );
    case "call":
      return callLines(part, data, lengths);
    case "provider-call":
      return [`  ${visibleText(labelOf(part))} (run by the provider)`];
    case "provider-result": {
      const output = jsonExcerpt(part.output, 100);
      return [`  ${visibleName(`${part.toolName} → ${part.isError ? "failed: " : ""}${output}`)}`];
    }
    case "file":
    case "reasoning-file":
      return [`  [${visibleName(fileText(part))}]`];
    case "custom":
      return isReport(part.customKind) ? [] : [`  [${visibleName(part.customKind)}]`];
    case "source":
      return [`  source: ${visibleText(jsonExcerpt(part.source, 120))}`];
    case "error":
      return [errorLine(part.error)];
  }
}

/** A call with its outcome; with full lengths also its input and output. */
function callLines(part: CallPart, data: Channel, lengths: Lengths): readonly string[] {
  const { input, outcome } = part;
  const style = outcome.status === "succeeded" ? "cyan" : "yellow";
  const line = `  ${data.style(style, visibleText(`${labelOf(part)} → ${callEnd(part)}`))}`;
  const answers = (part.approvals ?? []).flatMap(({ answer }) =>
    answer === undefined ? [] : [`    ${visibleText(answerText(answer))}`],
  );
  if (lengths.value !== Number.POSITIVE_INFINITY) return [line, ...answers];
  const values = [`input: ${shortenedJson(input, lengths.value)}`];
  if (outcome.status === "succeeded") {
    values.push(`output: ${shortenedJson(outcome.output, lengths.value)}`);
  } else if (outcome.status === "failed") values.push(`error: ${outcome.error.message}`);
  return [
    line,
    ...answers,
    ...values.flatMap((value) => indented(visibleText(value)).map((one) => `  ${one}`)),
  ];
}

function answerText({ approved, always, by, reason }: ApprovalDecision): string {
  const how = `${approved ? "approved" : "denied"}${always === true ? " for good" : ""}`;
  const who = by === undefined ? "" : ` by ${excerpt(by, 60)}`;
  return `${how}${who}${reason === undefined ? "" : `: ${excerpt(reason, 120)}`}`;
}

function labelOf({ toolName, input }: CallPart | ProviderCallPart): string {
  return callLabel(toolName, input, 100);
}

function errorLine({ message }: StoredError): string {
  return `  error: ${visibleText(excerpt(message, 200))}`;
}

function callEnd({ outcome, input }: CallPart): string {
  switch (outcome.status) {
    case "succeeded":
      return outcomeLabel(outcome.output, input);
    case "failed":
      return `failed: ${excerpt(outcome.error.message, 120)}`;
    case "denied":
    case "refused":
    case "skipped":
    case "unknown": {
      const { reason } = outcome;
      return `${outcome.status}${reason === undefined ? "" : `: ${excerpt(reason, 120)}`}`;
    }
    case "waiting":
    case "awaiting-approval":
    case "awaiting-output":
    case "approved":
    case "running":
      return outcome.status;
  }
}
