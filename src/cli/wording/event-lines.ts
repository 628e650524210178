/**
 * Turns each event of a session into the lines that the chat, a single turn, `show` and `replay` print. It
 * remembers what later events need, and writes nothing.
 */

import { z } from "zod";
import {
  defined,
  isReport,
  jsonObjectSchema,
  textStart,
  type CallQuestion,
  type EventMap,
  type JsonValue,
  type SessionEvent,
  type StoredUserContent,
} from "../../events/index.ts";
import type { Style } from "../output/output.ts";
import { visibleName } from "../output/visible-text.ts";
import { fileChange, type ChangedLine, type FileChange, type PresentText } from "./file-change.ts";
import { contextWords } from "./context-words.ts";
import {
  callLabel,
  outcomeLabel,
  amount,
  contentText,
  duration,
  excerpt,
  fileText,
  fullLengths,
  jsonExcerpt,
  shortened,
  shortenedJson,
  usualLengths,
  type Lengths,
} from "./wording.ts";
import {
  costLine,
  emptyTally,
  endingSentence,
  allowedSentence,
  heldSentence,
  limitSentence,
  failoverSentence,
  retrySentence,
  skippedWords,
  tally,
  unknownWords,
  type TurnTally,
} from "./turn-words.ts";

export interface EventLine {
  /** Names and contents in it are as the event has them; it may have several lines. */
  readonly text: string;
  readonly style: Style;
  /** The position of the earlier event that the line describes; absent if it describes the last one. */
  readonly position?: number;
  /** Whether the line is a person's message. Empty lines set it apart. */
  readonly isMessage?: true;
}

/** A call of the running step. */
export interface ToldCall {
  readonly callId: string;
  readonly toolName: string;
  readonly input: JsonValue;
  /** Why approval is needed, if the tool gave a reason. */
  readonly reason?: string;
  /** What the running call asks. */
  readonly question?: CallQuestion;
}

export interface EventLinesOptions {
  /** The width of the terminal; undefined without one. */
  readonly columns?: () => number | undefined;
  /**
   * Whether to show people's messages, the questions to them with their answers, and the errors of turns.
   * Default: false.
   */
  readonly isWhole?: boolean;
  /** Whether notes name slash commands that help. Default: false. */
  readonly namesCommands?: boolean;
  readonly lengths?: Lengths;
  /** The text of a file that a call may write, if the agent's tools write here. */
  readonly present?: PresentText | undefined;
  /** Calls of a step that began before the first event, and messages that waited then. */
  readonly open?: readonly ToldCall[];
  readonly queue?: readonly { readonly id: string; readonly content: StoredUserContent }[];
}

type Call = Omit<ToldCall, "callId" | "reason"> & {
  /** Epoch milliseconds. */
  readonly startedAt?: number;
};

type Mark = "✓" | "✗" | "-" | "?";

const styles: Readonly<Record<Mark, Style>> = {
  "✓": "green",
  "✗": "red",
  "-": "yellow",
  "?": "yellow",
};

const CALL_LENGTH = 100;
const OUTCOME_LENGTH = 160;

const troubles: ReadonlySet<string> = new Set([
  "context.count-failed",
  "context.compaction-rejected",
  "context.summary-rejected",
  "context.overflowed",
  "context.reduced",
]);
const undoable: ReadonlySet<string> = new Set([
  "context.pruned",
  "context.media-omitted",
  "context.reduced",
  "context.compacted",
]);

export class EventLines {
  readonly #options: EventLinesOptions;
  readonly #lengths: Lengths;
  readonly #messages: Map<string, StoredUserContent>;
  #calls: Map<string, Call>;
  /** What running calls asked last. */
  readonly #asked: Map<string, CallQuestion>;
  /** Calls whose change a question has shown. */
  readonly #askedChanges = new Set<string>();
  #tally: TurnTally = emptyTally;
  /** A pruning waits for an event with the size of the prompt after it. */
  #pruned: SessionEvent<"context.pruned"> | undefined;

  constructor(options: EventLinesOptions = {}) {
    const { open = [], queue = [], lengths = usualLengths } = options;
    this.#options = options;
    this.#lengths = lengths;
    this.#messages = new Map(queue.map(({ id, content }) => [id, content]));
    this.#calls = new Map(open.map(({ callId, toolName, input }) => [callId, { toolName, input }]));
    this.#asked = new Map(
      open.flatMap(({ callId, question }) => (question === undefined ? [] : [[callId, question]])),
    );
  }

  /** What a person is asked about a call. */
  describeQuestion(callId: string): string {
    const { toolName, input } = this.#call(callId);
    const asked = this.#asked.get(callId);
    return asked === undefined
      ? `Run ${visibleName(callLabel(toolName, input, 400))}?`
      : `${visibleName(toolName)}: ${askedWords(asked)}`;
  }

  take(event: SessionEvent): readonly EventLine[] {
    this.#tally = tally(event.type === "turn.started" ? emptyTally : this.#tally, event);
    if (event.type === "tool.approval-requested") this.#ask(event.data);
    const about = this.#options.isWhole === true ? this.#ofPeople(event) : [];
    return [...this.#ofContext(event), ...this.#ofTurn(event), ...about];
  }

  #ask({ callId, question }: EventMap["tool.approval-requested"]): void {
    if (question === undefined) this.#asked.delete(callId);
    else this.#asked.set(callId, question);
  }

  /** The line that is held back, at the end of the events. */
  rest(): readonly EventLine[] {
    const held = this.#pruned;
    this.#pruned = undefined;
    return this.#heldNotice(held);
  }

  #ofContext(event: SessionEvent): readonly EventLine[] {
    const held = this.#pruned;
    const after = sizeBefore(event);
    // After these events the size of the pruned prompt can no longer become known.
    const isOver =
      after !== undefined ||
      ["context.pruned", "context.restored", "turn.ended"].includes(event.type);
    if (isOver) this.#pruned = undefined;
    const before = isOver ? this.#heldNotice(held, after) : [];
    if (event.type !== "context.pruned") return [...before, ...this.#notice(event)];
    this.#pruned = event;
    return before;
  }

  #heldNotice(held: SessionEvent | undefined, after?: number): readonly EventLine[] {
    if (held === undefined) return [];
    return this.#notice(held, after).map((one) => ({ ...one, position: held.position }));
  }

  #notice(event: SessionEvent, after?: number): readonly EventLine[] {
    const words = contextWords(event, after);
    if (words === undefined) return [];
    const namesUndo = this.#options.namesCommands === true && undoable.has(event.type);
    const undo = namesUndo ? ` /restore ${event.position} undoes it.` : "";
    return line(`${words}${undo}`, troubles.has(event.type) ? "yellow" : "dim");
  }

  #ofTurn(event: SessionEvent): readonly EventLine[] {
    switch (event.type) {
      case "step.started":
        // Providers reuse call ids in later steps.
        this.#calls = new Map();
        return [];
      case "step.failed-over":
        return line(failoverSentence(event), "yellow");
      case "step.retrying":
        return line(retrySentence(event), "yellow");
      case "turn.limit-reached":
        return line(limitSentence(event), "yellow");
      case "turn.held": {
        const { budget } = event.data;
        const how =
          this.#options.namesCommands === true
            ? `/allow <${budget.unit}> lets it continue`
            : "`session.allow`, or /allow in a chat, lets it continue";
        return line(`${heldSentence(budget)} ${how}.`, "yellow");
      }
      case "turn.allowed":
        return line(allowedSentence(event), "dim");
      case "part.start-step":
        return event.data.warnings.flatMap((warning) =>
          line(`warning: ${jsonExcerpt(warning, 200)}`, "yellow"),
        );
      case "part.source":
        return line(`source: ${jsonExcerpt(event.data, 160)}`);
      case "part.file":
      case "part.reasoning-file":
        return line(`[${fileText(event.data)}]`);
      case "part.custom":
        return isReport(event.data.kind) ? [] : line(`[${event.data.kind}]`);
      case "turn.ended":
        return [
          ...line(endingSentence(event.data.reason, this.#tally), "yellow"),
          ...(event.data.output?.repaired === true
            ? line("The output was repaired before it was read.", "dim")
            : []),
          ...line(costLine(event, this.#tally)),
        ];
      default:
        return this.#ofCalls(event);
    }
  }

  #ofCalls(event: SessionEvent): readonly EventLine[] {
    switch (event.type) {
      case "part.tool-call": {
        const { toolCallId, toolName, input, providerExecuted } = event.data;
        // Earlier releases recorded a second call of an id in a reply: the session has the first.
        if (this.#calls.has(toolCallId)) return [];
        this.#calls.set(toolCallId, { toolName, input: input ?? {} });
        // Calls of our own tools are shown when they start.
        return providerExecuted === true ? this.#started(toolCallId, toolName, event.time) : [];
      }
      case "part.tool-result": {
        const { toolCallId, output, providerExecuted } = event.data;
        if (providerExecuted !== true) return [];
        return this.#ended(toolCallId, event.time, "✓", outcomeLabel(output, {}), output);
      }
      case "part.tool-error": {
        const { toolCallId, error, providerExecuted } = event.data;
        if (providerExecuted !== true) return [];
        return this.#ended(toolCallId, event.time, "✗", jsonExcerpt(error, OUTCOME_LENGTH), error);
      }
      case "tool.started":
        return this.#started(event.data.callId, event.data.toolName, event.time);
      case "tool.succeeded": {
        const { callId, output } = event.data;
        const { toolName, input } = this.#call(callId);
        const label = outcomeLabel(output, input);
        const isTold = this.#askedChanges.has(callId) || this.#lengths === fullLengths;
        return [
          ...this.#ended(callId, event.time, "✓", label, output),
          ...(isTold ? [] : changedLines(fileChange(toolName, input))),
        ];
      }
      case "tool.failed": {
        const { message } = event.data.error;
        const label = excerpt(message, OUTCOME_LENGTH);
        return this.#ended(event.data.callId, event.time, "✗", label, message);
      }
      case "tool.denied": {
        const { callId, reason } = event.data;
        return this.#ended(callId, event.time, "✗", `denied${because(reason)}`);
      }
      case "tool.skipped":
        return this.#ended(event.data.callId, event.time, "-", skippedWords(event));
      case "tool.unknown":
        return this.#ended(event.data.callId, event.time, "?", unknownWords(event));
      default:
        return [];
    }
  }

  #ofPeople(event: SessionEvent): readonly EventLine[] {
    switch (event.type) {
      case "message.queued":
        this.#messages.set(event.data.id, event.data.content);
        return [];
      case "message.delivered":
        return this.#texts(event.data.ids).map((text) => ({
          text: `> ${text}`,
          style: "bold",
          isMessage: true,
        }));
      case "message.withdrawn":
        return this.#texts(event.data.ids).flatMap((text) => line(`Taken back: ${text}`));
      case "tool.approval-requested": {
        const { callId, reason, question } = event.data;
        const call = { ...this.#call(callId), callId, ...defined({ reason, question }) };
        this.#askedChanges.add(callId);
        return questionLines(call, this.#options.present);
      }
      case "tool.approval-answered": {
        const { callId, approved, always, reason, by } = event.data;
        const who = by === undefined ? "" : ` (${excerpt(by, 60)})`;
        const how = approved ? "runs without asking" : "is refused";
        return [
          ...line(`> ${approved ? "yes" : "no"}${who}${because(reason)}`, "bold"),
          ...(always === true
            ? line(`From now on ${this.#call(callId).toolName} ${how} in this session.`)
            : []),
        ];
      }
      case "session.approval-forgotten":
        return line(`From now on you are asked again before calls of ${event.data.toolName}.`);
      case "session.rewound": {
        const { note } = event.data;
        return note === undefined ? [] : line(`Told to the model: ${note}`);
      }
      case "turn.cancel-requested": {
        const { reason, by } = event.data;
        if (reason === undefined && by === undefined) return [];
        const who = by === undefined ? "" : ` by ${excerpt(by, 60)}`;
        return line(`Cancel requested${who}${because(reason)}`);
      }
      case "session.recovered":
        return line(`The process had died (${event.data.inFlight.kind}).`, "yellow");
      case "session.closed":
        return line(`Closed${because(event.data.reason)}`);
      case "turn.ended": {
        const { error } = event.data;
        return error === undefined ? [] : line(`error: ${error.message} [TURN_FAILED]`, "red");
      }
      default:
        return [];
    }
  }

  #texts(ids: readonly string[]): readonly string[] {
    return ids.flatMap((id) => {
      const content = this.#messages.get(id);
      return content === undefined ? [] : [shortened(contentText(content), this.#lengths.text)];
    });
  }

  #call(callId: string): Call {
    return this.#calls.get(callId) ?? { toolName: "call", input: {} };
  }

  #started(callId: string, toolName: string, startedAt: number): readonly EventLine[] {
    const call = { ...(this.#calls.get(callId) ?? { toolName, input: {} }), startedAt };
    this.#calls.set(callId, call);
    return line(`→ ${this.#label(call)}${this.#value("input", call.input)}`, "cyan");
  }

  #ended(
    callId: string,
    time: number,
    mark: Mark,
    outcome: string,
    value?: JsonValue,
  ): readonly EventLine[] {
    const call = this.#call(callId);
    const sameTool = [...this.#calls.values()].filter(({ toolName }) => toolName === call.toolName);
    // The input distinguishes several calls of one tool.
    const what = sameTool.length > 1 ? this.#label(call) : call.toolName;
    const took = call.startedAt === undefined ? "" : ` · ${duration(time - call.startedAt)}`;
    return line(`${mark} ${what} · ${outcome}${took}${this.#value("output", value)}`, styles[mark]);
  }

  /** The whole of a value, where everything is told. */
  #value(name: string, value: JsonValue | undefined): string {
    const { value: most } = this.#lengths;
    if (most !== Number.POSITIVE_INFINITY || value === undefined) return "";
    return `\n${name}: ${shortenedJson(value, most)}`;
  }

  #label({ toolName, input }: Call): string {
    const room = Math.min(CALL_LENGTH, (this.#options.columns?.() ?? CALL_LENGTH) - 2);
    return callLabel(toolName, input, Math.max(20, room - toolName.length - 1));
  }
}

function line(text: string | undefined, style: Style = "dim"): readonly EventLine[] {
  return text === undefined ? [] : [{ text, style }];
}

function because(reason: string | undefined): string {
  return reason === undefined ? "" : `: ${excerpt(reason, OUTCOME_LENGTH)}`;
}

/** Tokens of the prompt before the event, if the event gives them. */
function sizeBefore(event: SessionEvent): number | undefined {
  switch (event.type) {
    case "step.started":
      return event.data.estimate.tokens;
    case "context.counted":
    case "context.count-failed":
      return event.data.estimatedTokens;
    case "context.compacted":
    case "context.compaction-rejected":
      return event.data.beforeTokens;
    default:
      return undefined;
  }
}

const QUESTION_LINES = 12;
const LINE_LENGTH = 400;

/** A call that waits for an answer, with its whole input: a person must see what they approve. */
export function questionLines(
  { toolName, input, reason, question }: ToldCall,
  present?: EventLinesOptions["present"],
): readonly EventLine[] {
  if (question !== undefined) return line(`? ${toolName}: ${askedWords(question)}`, "yellow");
  const why = reason === undefined ? "" : ` ${excerpt(reason, LINE_LENGTH)}`;
  const fields = jsonObjectSchema.safeParse(input);
  const entries = fields.success ? Object.entries(fields.data) : [["input", input] as const];
  const change = fileChange(toolName, input, present);
  const others = entries.filter(([name]) => change?.told.has(name) !== true);
  return [
    `? ${toolName} waits for your answer.${why}`,
    ...others.flatMap(([name, value]) => fieldLines(name, value)),
  ]
    .flatMap((text) => line(text, "yellow"))
    .concat(changedLines(change));
}

const changeStyles: Readonly<Record<ChangedLine["mark"], Style>> = {
  "+": "green",
  "-": "red",
  " ": "dim",
};

function changedLines(change: FileChange | undefined): readonly EventLine[] {
  return (change?.lines ?? []).map(({ mark, text }) => ({
    text: `    ${mark} ${cut(text)}`,
    style: changeStyles[mark],
  }));
}

/** The fields of a form that waits for an answer, with their values if they are few. */
export function formFields(
  question: CallQuestion | undefined,
): readonly { readonly name: string; readonly what: string; readonly values: readonly string[] }[] {
  if (question?.kind !== "form") return [];
  const { properties } = formSchema.parse(question.schema);
  return Object.entries(properties).map(([name, { type, enum: choices, description }]) => ({
    name,
    what: description ?? choices?.join(" | ") ?? type ?? "",
    values: choices ?? (type === "boolean" ? ["true", "false"] : []),
  }));
}

/** What a running call asks, and how it is answered. */
export function askedWords(question: CallQuestion): string {
  const { from } = question;
  switch (question.kind) {
    case "login-required":
      return `${from} needs a login. Log in at ${question.url} and then answer y.`;
    case "address":
      return `${from}: ${excerpt(question.message, LINE_LENGTH)} Open ${question.url} and then answer y.`;
    case "form": {
      const { properties } = formSchema.parse(question.schema);
      const fields = Object.entries(properties).map(
        ([name, { type, enum: choices, description }]) => {
          const about = [choices?.join(" | ") ?? type, description].filter(
            (one) => one !== undefined,
          );
          return `${name} (${about.join(": ")})`;
        },
      );
      const example = Object.keys(properties).map((name) => `${name}=…`);
      return `${from}: ${excerpt(question.message, LINE_LENGTH)} ${fields.join(", ")}. Answer ${example.join(", ")} or n.`;
    }
  }
}

const formSchema = z.looseObject({
  properties: z
    .record(
      z.string(),
      z.looseObject({
        type: z.string().optional().catch(undefined),
        enum: z.array(z.string()).optional().catch(undefined),
        description: z.string().optional().catch(undefined),
      }),
    )
    .catch({}),
});

function fieldLines(name: string, value: JsonValue): readonly string[] {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const lines = text.split("\n").map((one) => cut(one));
  const [only = ""] = lines;
  if (lines.length === 1) return [`    ${name}: ${only}`];
  const left = lines.length - QUESTION_LINES;
  return [
    `    ${name}:`,
    ...lines.slice(0, QUESTION_LINES).map((one) => `      ${one}`),
    ...(left > 0 ? [`      … ${amount(left, "line")} more`] : []),
  ];
}

/** Unlike `excerpt`, keeps spaces: they may be part of a file's text. */
function cut(text: string): string {
  const left = text.length - LINE_LENGTH;
  return left > 0 ? `${textStart(text, LINE_LENGTH)}… ${amount(left, "character")} more` : text;
}
