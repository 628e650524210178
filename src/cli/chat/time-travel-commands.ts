/** What is asked for of a session's past in a chat: a fork to go on in, the last turn undone, a look at a position. */

import { TurnlogError } from "../../events/index.ts";
import type { CallPart } from "../../projections/index.ts";
import type { Session } from "../../runtime/index.ts";
import type { SessionView } from "../../state/index.ts";
import { contextLines, amount, contentText, dateAndTime, excerpt } from "../wording/index.ts";
import { stateLines } from "../show/index.ts";
import type { TravelLine } from "./chat-line.ts";
import { conversationOf, type ConversationState } from "./conversation-state.ts";
import { hint, type Outcome } from "./command-outcome.ts";
import { lastMessages } from "./resumed-session.ts";
import { forkName } from "./session-name.ts";

/** Characters of a message that is named. */
const SAID_LENGTH = 80;
/** Of the drawing of the prompt: its size and its bar. */
const PROMPT_LINES = 2;

/** @throws TurnlogError as the session's commands do */
export async function carryOutTravel(
  order: TravelLine,
  session: Session,
  { activity }: ConversationState,
  columns: number,
): Promise<Outcome> {
  if (order.kind === "at") {
    return { kind: "lines", lines: await standing(session, order.position, columns) };
  }
  // The screen may not have been told yet of what was sent a moment ago.
  const now = activity === "idle" ? conversationOf(await session.view()).activity : activity;
  if (now !== "idle") {
    const running = now === "compacting" ? "A compaction" : "A turn";
    return hint(`${running} is running: /${order.kind} when it has ended; Esc cancels it.`);
  }
  try {
    return await (order.kind === "fork" ? fork(session, order.name) : undo(session));
  } catch (error) {
    if (!TurnlogError.isInstance(error) || !refusals.has(error.code)) throw error;
    if (order.kind === "fork" && error.code === "REVISION_CONFLICT") {
      return hint(
        `There is a session ${order.name} already, and nothing was forked. /fork takes another name, and makes one up without.`,
      );
    }
    return hint(error.message);
  }
}

/** What is wrong with a name, or with there being nothing to undo. */
const refusals: ReadonlySet<string> = new Set(["INVALID_INPUT", "REVISION_CONFLICT"]);

async function fork(session: Session, name = forkName(session.id)): Promise<Outcome> {
  const forked = await session.fork({ id: name });
  const view = await forked.view();
  const lines = [
    `From here on this is ${name}, a fork of ${session.id}, which stays as it is.`,
    ...waitingLines(view),
  ];
  return { kind: "moved", session: forked, view, lines };
}

async function undo(session: Session): Promise<Outcome> {
  const before = await session.view();
  const undone = await session.fork({ id: forkName(session.id), undo: true });
  const view = await undone.view();
  const gone = before.history.filter(({ position }) => position > branchOf(view));
  const said = gone.flatMap((item) =>
    item.kind === "user" ? [`"${excerpt(contentText(item.content), SAID_LENGTH)}"`] : [],
  );
  const calls = gone.flatMap((item) =>
    item.kind === "step" ? item.parts.filter((part) => part.kind === "call" && hasRun(part)) : [],
  );
  const lines = [
    `Back to before ${said.join(", ")}. From here on this is ${undone.id}; ${session.id} still has it.`,
    ...(calls.length === 0
      ? []
      : [`${amount(calls.length, "call")} had run by then: what they did in the world is done.`]),
    ...waitingLines(view),
  ];
  return { kind: "moved", session: undone, view, lines };
}

/** The last position that a fork shares. */
function branchOf({ summary }: SessionView): number {
  return summary.forkedFrom?.position ?? 0;
}

function hasRun({ outcome }: CallPart): boolean {
  return ["succeeded", "failed", "unknown"].includes(outcome.status);
}

function waitingLines({ queue }: SessionView): readonly string[] {
  if (queue.length === 0) return [];
  return [`${amount(queue.length, "message")} waiting here as there; /queue lists them.`];
}

/** What a person wants to know of a position: what had been said, how it stood, how large the prompt was. */
async function standing(
  session: Session,
  at: number | undefined,
  columns: number,
): Promise<readonly string[]> {
  const now = await session.view();
  if (at === undefined) {
    const last = now.history.at(-1);
    const since = last === undefined ? "" : `, since ${dateAndTime(last.at)}`;
    const from = now.summary.forkedFrom;
    return [
      `${session.id} is at ${now.position}${since}; /at <position> shows how it stood.`,
      ...(from === undefined
        ? []
        : [`It shares the events of ${from.session} up to ${from.position}.`]),
    ];
  }
  if (at > now.position) return [`${session.id} is at ${now.position}; there is no ${at} yet.`];
  const view = await session.at(at);
  const [title = "", ...state] = stateLines(view);
  const said = lastMessages(view).map(({ who, text }) => `  ${who.padEnd(5)}  ${text}`);
  const prompt = contextLines(await session.context({ at }), columns);
  return [
    `${title} (of ${now.position})`,
    ...state,
    ...(said.length === 0 ? ["Nothing had been said."] : ["Last said:", ...said]),
    ...prompt.slice(0, PROMPT_LINES),
    `The chat stays at ${now.position}.`,
  ];
}
