/** Turns the events of tool calls into lines. Remembers the calls of the step; writes nothing. */

import {
  jsonObjectSchema,
  type JsonValue,
  type SessionEvent,
  textStart,
} from "../../events/index.ts";
import type { Style } from "../output/index.ts";
import type { OpenCall } from "./conversation-state.ts";
import {
  amount,
  callLabel,
  outcomeLabel,
  skippedWords,
  unknownWords,
  duration,
  excerpt,
  jsonExcerpt,
} from "../wording/index.ts";

export interface CallLine {
  readonly text: string;
  readonly style: Style;
}

interface Call {
  readonly toolName: string;
  readonly input: JsonValue;
  /** Epoch milliseconds. */
  readonly startedAt?: number;
}

type Mark = "✓" | "✗" | "-" | "?";

const styles: Readonly<Record<Mark, Style>> = {
  "✓": "green",
  "✗": "red",
  "-": "yellow",
  "?": "yellow",
};

const CALL_LENGTH = 100;
const OUTCOME_LENGTH = 160;

export class CallLines {
  readonly #columns: () => number | undefined;
  #calls: Map<string, Call>;

  /** `columns`: undefined without a terminal. `open`: calls of a step that another screen has shown. */
  constructor(columns: () => number | undefined, open: readonly OpenCall[] = []) {
    this.#columns = columns;
    this.#calls = new Map(open.map(({ callId, toolName, input }) => [callId, { toolName, input }]));
  }

  describe(callId: string): string {
    const { toolName, input } = this.#calls.get(callId) ?? { toolName: "call", input: {} };
    return callLabel(toolName, input, 400);
  }

  take(event: SessionEvent): CallLine | undefined {
    switch (event.type) {
      case "step.started":
        // Providers reuse call ids in later steps.
        this.#calls = new Map();
        return undefined;
      case "part.tool-call": {
        const { toolCallId, toolName, input, providerExecuted } = event.data;
        // Earlier releases recorded a second call of an id in a reply: the session has the first.
        if (this.#calls.has(toolCallId)) return undefined;
        this.#calls.set(toolCallId, { toolName, input: input ?? {} });
        // Calls of our own tools are shown when they start.
        return providerExecuted === true
          ? this.#started(toolCallId, toolName, event.time)
          : undefined;
      }
      case "part.tool-result": {
        const { toolCallId, output, providerExecuted } = event.data;
        if (providerExecuted !== true) return undefined;
        return this.#ended(toolCallId, event.time, "✓", outcomeLabel(output, {}));
      }
      case "part.tool-error": {
        const { toolCallId, error, providerExecuted } = event.data;
        if (providerExecuted !== true) return undefined;
        return this.#ended(toolCallId, event.time, "✗", jsonExcerpt(error, OUTCOME_LENGTH));
      }
      case "tool.started":
        return this.#started(event.data.callId, event.data.toolName, event.time);
      case "tool.succeeded": {
        const { callId, output } = event.data;
        const input = this.#calls.get(callId)?.input ?? {};
        return this.#ended(callId, event.time, "✓", outcomeLabel(output, input));
      }
      case "tool.failed": {
        const { callId, error } = event.data;
        return this.#ended(callId, event.time, "✗", excerpt(error.message, OUTCOME_LENGTH));
      }
      case "tool.denied": {
        const { callId, reason } = event.data;
        const why = reason === undefined ? "" : `: ${excerpt(reason, OUTCOME_LENGTH)}`;
        return this.#ended(callId, event.time, "✗", `denied${why}`);
      }
      case "tool.skipped":
        return this.#ended(event.data.callId, event.time, "-", skippedWords(event));
      case "tool.unknown":
        return this.#ended(event.data.callId, event.time, "?", unknownWords(event));
      default:
        return undefined;
    }
  }

  #started(callId: string, toolName: string, startedAt: number): CallLine {
    const call = { ...(this.#calls.get(callId) ?? { toolName, input: {} }), startedAt };
    this.#calls.set(callId, call);
    return { text: `→ ${this.#label(call)}`, style: "cyan" };
  }

  #ended(callId: string, time: number, mark: Mark, outcome: string): CallLine {
    const call: Call = this.#calls.get(callId) ?? { toolName: "call", input: {} };
    const sameTool = [...this.#calls.values()].filter(({ toolName }) => toolName === call.toolName);
    // The input distinguishes several calls of one tool.
    const what = sameTool.length > 1 ? this.#label(call) : call.toolName;
    const took = call.startedAt === undefined ? "" : ` · ${duration(time - call.startedAt)}`;
    return { text: `${mark} ${what} · ${outcome}${took}`, style: styles[mark] };
  }

  #label({ toolName, input }: Call): string {
    const room = Math.min(CALL_LENGTH, (this.#columns() ?? CALL_LENGTH) - 2);
    return callLabel(toolName, input, Math.max(20, room - toolName.length - 1));
  }
}

const QUESTION_LINES = 12;
const LINE_LENGTH = 400;

/** A call that waits for an answer, with its whole input: a person must see what they approve. */
export function questionLines({ toolName, input, reason }: OpenCall): readonly string[] {
  const why = reason === undefined ? "" : ` ${excerpt(reason, LINE_LENGTH)}`;
  const fields = jsonObjectSchema.safeParse(input);
  const entries = fields.success ? Object.entries(fields.data) : [["input", input] as const];
  return [
    `? ${toolName} waits for your answer.${why}`,
    ...entries.flatMap(([name, value]) => fieldLines(name, value)),
  ];
}

function fieldLines(name: string, value: JsonValue): readonly string[] {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const lines = text.split("\n").map((line) => cut(line));
  const [only = ""] = lines;
  if (lines.length === 1) return [`    ${name}: ${only}`];
  const left = lines.length - QUESTION_LINES;
  return [
    `    ${name}:`,
    ...lines.slice(0, QUESTION_LINES).map((line) => `      ${line}`),
    ...(left > 0 ? [`      … ${amount(left, "line")} more`] : []),
  ];
}

/** Unlike `excerpt`, keeps spaces: they may be part of a file's text. */
function cut(line: string): string {
  const left = line.length - LINE_LENGTH;
  return left > 0 ? `${textStart(line, LINE_LENGTH)}… ${amount(left, "character")} more` : line;
}
