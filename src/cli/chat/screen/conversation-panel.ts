/** The last rows of a chat: the open question, the queue, the keys, and the line being typed. Pure. */

import type { Style } from "../../output/output.ts";
import { visibleName, visibleText } from "../../output/visible-text.ts";
import { cutToCells, rowsOfWords } from "../../terminal/cells.ts";
import { draftRows, type Draft } from "../../terminal/draft.ts";
import type { Panel } from "../../terminal/live-screen.ts";
import { amount, contentText, duration, figure, callLabel } from "../../wording/wording.ts";
import { askedWords } from "../../wording/event-lines.ts";
import { heldSentence } from "../../wording/turn-words.ts";
import type { QueuedMessage } from "../../../projections/index.ts";
import type { Choice } from "../line/completion.ts";
import { questionsOf, runningCalls, type ConversationState } from "./conversation-state.ts";

export interface PanelOptions {
  readonly state: ConversationState;
  readonly draft: Draft;
  /** The model that answers, and how full its context is, once known. */
  readonly standing: readonly string[];
  /** Milliseconds since the turn began; undefined at rest. */
  readonly elapsed: number | undefined;
  /** A sentence about the last key or line, shown until the next one. */
  readonly hint: string | undefined;
  /** What Tab can complete the line to. */
  readonly choices: readonly Choice[];
  /** The index of the one that the arrow keys have chosen. */
  readonly chosen?: number | undefined;
  readonly columns: number;
  readonly rows: number;
  readonly style: (style: Style, text: string) => string;
}

const PROMPT = "> ";
const INDENT = "  ";
const CHOSEN = "› ";
/** Before a row next to hidden ones. */
const CUT = "… ";
/** Most rows of what is typed. */
const MOST_DRAFT = 10;
const MOST_CHOICES = 8;

export function panel(options: PanelOptions): Panel {
  const { state, draft, hint, choices, chosen, columns, rows, style } = options;
  // The last cell stays free: terminals wrap differently after it.
  const cells = Math.max(1, columns - 1);
  const typed = draftRows(
    { before: visibleText(draft.before), after: visibleText(draft.after) },
    cells - PROMPT.length,
    Math.max(1, Math.min(MOST_DRAFT, Math.floor(rows / 3))),
  );
  const last = typed.rows.length - 1;
  const most = Math.max(0, Math.min(MOST_CHOICES, rows - 6));
  const listed = choiceRows(choices, chosen, cells, most);
  const help = [
    ...listed.map((row) => style(row.startsWith(CHOSEN) ? "bold" : "dim", row)),
    ...(hint === undefined
      ? []
      : rowsOfWords(visibleName(hint).split(" "), cells, " ").map((row) => style("yellow", row))),
    ...rowsOfWords(keysFor(options), cells, " · ").map((row) => style("dim", row)),
  ];
  const question = questionRow(state, cells);
  const fixed = (question === undefined ? 0 : 1) + help.length + typed.rows.length;
  const queue = queueRows(state, cells, Math.max(0, rows - fixed - 3));
  const lines = [
    "",
    ...(question === undefined ? [] : [style("yellow", question)]),
    ...queue.map((row) => style("cyan", row)),
    ...help,
    ...typed.rows.map((row, index) => {
      const isCut = (index === 0 && typed.above) || (index === last && typed.below);
      return (isCut ? CUT : index === 0 ? PROMPT : INDENT) + row;
    }),
  ];
  return {
    // Rows above the window could not be redrawn.
    lines: lines.slice(-Math.max(1, rows - 1)),
    below: last - typed.row,
    column: PROMPT.length + typed.column,
  };
}

/** Names, and what each does where there is room. */
function choiceRows(
  choices: readonly Choice[],
  chosen: number | undefined,
  cells: number,
  most: number,
): readonly string[] {
  const room = choices.length > most ? most - 1 : most;
  const first = Math.max(0, (chosen ?? 0) - room + 1);
  const shown = choices.slice(first, first + room);
  const width = Math.max(0, ...shown.map(({ name }) => name.length));
  const left = choices.length - shown.length;
  return [
    ...shown.map(({ name, what }, index) =>
      cutToCells(
        `${first + index === chosen ? CHOSEN : INDENT}${visibleName(name).padEnd(what === "" ? 0 : width)}  ${oneLine(what)}`.trimEnd(),
        cells,
      ),
    ),
    ...(left > 0 && most > 0 ? [cutToCells(`  … ${figure(left)} more`, cells)] : []),
  ];
}

function questionRow(state: ConversationState, cells: number): string | undefined {
  const questions = questionsOf(state);
  const [question] = questions;
  if (state.budget !== undefined) return cutToCells(visibleText(heldSentence(state.budget)), cells);
  if (question === undefined) return undefined;
  const more = questions.length > 1 ? ` (1 of ${questions.length})` : "";
  if (question.question !== undefined)
    return (
      cutToCells(visibleText(`? ${askedWords(question.question)}`), cells - more.length) + more
    );
  const label = visibleName(callLabel(question.toolName, question.input, 400));
  return `${cutToCells(`? Run ${label}`, cells - more.length - 1)}?${more}`;
}

function queueRows(
  { queue, held, activity }: ConversationState,
  cells: number,
  most: number,
): readonly string[] {
  const shown = queue.length > most ? queue.slice(0, Math.max(0, most - 1)) : queue;
  const rows = shown.map(({ number, content, ...message }) => {
    const when = whenDelivered(message, held, activity === "idle");
    return cutToCells(`${number} ${when}: ${oneLine(contentText(content))}`, cells);
  });
  const left = queue.length - shown.length;
  return left > 0 && most > 0
    ? [...rows, cutToCells(`… ${amount(left, "message")} more, /queue`, cells)]
    : rows;
}

export function whenDelivered(
  { delivery, notBefore }: Pick<QueuedMessage, "delivery" | "notBefore">,
  held: boolean,
  isIdle: boolean,
): string {
  if (notBefore !== undefined) return `not before ${new Date(notBefore).toISOString()}`;
  if (held && isIdle) return "held back";
  return delivery === "steer" ? "next step" : "after the turn";
}

/** The activity and the keys that apply now, the most important first. */
function keysFor({ state, standing, elapsed = 0 }: PanelOptions): readonly string[] {
  const { activity, queue, held, stopping } = state;
  if (activity === "idle") {
    if (held && queue.length > 0) {
      return [`Enter delivers ${queue.length === 1 ? "it" : "them"}`, "/withdraw", "/help"];
    }
    return ["Ask about this folder", "/help", "Ctrl-D leaves", ...standing.map(visibleName)];
  }
  if (stopping === "after-tools") return ["Stopping after the tools", "Esc stops them now"];
  if (stopping === "now") return ["Stopping", "Ctrl-C leaves immediately"];
  if (state.budget !== undefined)
    return [`/allow <${state.budget.unit}> lets it continue`, "Esc cancels", "Ctrl-D leaves"];
  const [question] = questionsOf(state);
  if (question !== undefined) {
    return [
      "y yes",
      "n no, n <why>",
      `a always, v never ${visibleName(question.toolName)}`,
      "Tab steers",
      "Esc cancels",
    ];
  }
  return [activityText(state) + elapsedText(elapsed), "Enter queues", "Tab steers", "Esc cancels"];
}

function activityText(state: ConversationState): string {
  const running = runningCalls(state);
  const [first] = running;
  if (running.length > 1) return `Running ${amount(running.length, "tool")}`;
  if (first !== undefined) return `Running ${visibleName(first.toolName)}`;
  if (state.activity === "retrying") return "Waiting to try again";
  return state.activity === "compacting" ? "Compacting" : "Working";
}

/** In whole seconds, once there is something to wait for. */
function elapsedText(milliseconds: number): string {
  if (milliseconds < 2000) return "";
  const seconds = Math.floor(milliseconds / 1000);
  return ` ${seconds < 60 ? `${seconds} s` : duration(seconds * 1000)}`;
}

function oneLine(text: string): string {
  return visibleText(text.replaceAll(/\s+/g, " ").trim());
}
