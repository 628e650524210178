/** Carries out the commands about the session's past: `/fork`, `/at`, and those about branches. */

import { TurnlogError } from "../../../events/index.ts";
import type { ChatSession, ChatTurn } from "../host/chat-session.ts";
import type { SessionView } from "../../../state/index.ts";
import { contextLines } from "../../wording/context-drawing.ts";
import { amount, dateAndTime, contentText, excerpt, linesOf } from "../../wording/wording.ts";
import { stateLines } from "../../show/show-view.ts";
import type { TravelLine } from "../line/chat-line.ts";
import type { ConversationState } from "../screen/conversation-state.ts";
import { busyHint, hint, type Outcome } from "./command-outcome.ts";
import { lastMessages, forkName } from "../host/resumed-session.ts";
import type { UserItem } from "../../../projections/index.ts";
import type { Rewound } from "../../../commands/index.ts";
import { branchLine } from "../../show/show-history.ts";

/** Lines of the prompt's drawing to show: its size and its bar. */
const PROMPT_LINES = 2;

export async function carryOutTravel(
  line: TravelLine,
  session: ChatSession,
  state: ConversationState,
  columns: number,
): Promise<Outcome> {
  if (line.kind === "at") {
    return { kind: "lines", lines: await positionLines(session, line.position, columns) };
  }
  const busy = await busyHint(line.kind, session, state);
  if (busy !== undefined) return busy;
  try {
    return await (line.kind === "fork" ? fork(session, line.name) : carryOutBranch(line, session));
  } catch (error) {
    if (!TurnlogError.isInstance(error) || !refusals.has(error.code)) throw error;
    if (line.kind === "fork" && error.code === "REVISION_CONFLICT") {
      return hint(
        `There is already a session ${line.name}; nothing was forked. Give another name, or none.`,
      );
    }
    return hint(error.message);
  }
}

/** Codes for a name that cannot be used, and for a branch or a turn that does not exist. */
const refusals: ReadonlySet<string> = new Set([
  "COMMAND_REFUSED",
  "INVALID_INPUT",
  "REVISION_CONFLICT",
]);

async function fork(session: ChatSession, name = forkName(session.id)): Promise<Outcome> {
  const forked = await session.fork({ id: name });
  const view = await forked.view();
  const lines = [
    `This is now ${name}, a fork of ${session.id}, which does not change.`,
    ...waitingLines(view),
  ];
  return { kind: "moved", session: forked, view, lines };
}

function waitingLines({ queue }: SessionView): readonly string[] {
  if (queue.length === 0) return [];
  return [`${amount(queue.length, "message")} waiting here too; /queue lists them.`];
}

/** The state, the last messages and the size of the prompt at a position; without one, where the session is. */
async function positionLines(
  session: ChatSession,
  position: number | undefined,
  columns: number,
): Promise<readonly string[]> {
  const now = await session.view();
  if (position === undefined) {
    const last = now.history.at(-1);
    const since = last === undefined ? "" : `, since ${dateAndTime(last.time)}`;
    const from = now.summary.forkedFrom;
    return linesOf(
      `${session.id} is at ${now.position}${since}; /at <position> shows it there.`,
      from && `It shares the events of ${from.session} up to ${from.position}.`,
    );
  }
  if (position > now.position) {
    return [`${session.id} is at ${now.position}; there is no position ${position} yet.`];
  }
  const view = await session.at(position);
  const [title = "", ...state] = stateLines(view);
  const messages = lastMessages(view).map(({ who, text }) => `  ${who.padEnd(5)}  ${text}`);
  const prompt = contextLines(await session.context({ position: position }), columns);
  return [
    `${title} (of ${now.position})`,
    ...state,
    ...(messages.length === 0 ? ["No messages yet."] : ["Last messages:", ...messages]),
    ...prompt.slice(0, PROMPT_LINES),
    `The chat stays at ${now.position}.`,
  ];
}

const QUOTE_LENGTH = 80;

type BranchLine = Exclude<TravelLine, { readonly kind: "fork" | "at" }>;

async function carryOutBranch(line: BranchLine, session: ChatSession): Promise<Outcome> {
  switch (line.kind) {
    case "undo":
      return await undo(session);
    case "redo":
      return await redo(session);
    case "retry":
      return await replaced(await session.regenerate());
    case "edit": {
      const [message] = (await messagesOfLastTurn(session)).slice(-1);
      if (message === undefined) return hint(`${session.id} has no message to edit.`);
      return await replaced(await session.send(line.text, { replaces: message.id }));
    }
    case "branches": {
      if (line.branch === undefined) return { kind: "lines", lines: await branchLines(session) };
      return await moved(session, await session.checkout(line.branch));
    }
  }
}

async function replaced(turn: ChatTurn): Promise<Outcome> {
  const { effects = [] } = (await turn.replaced) ?? {};
  return { kind: "sent", turn, lines: effectLines(effects) };
}

async function undo(session: ChatSession): Promise<Outcome> {
  const messages = await messagesOfLastTurn(session);
  const [first] = messages;
  if (first === undefined) return hint(`${session.id} has no turn to undo.`);
  const { effects } = await session.rewind({ beforeTurn: first.turn, tell: true });
  const said = messages.map(({ content }) => `"${excerpt(contentText(content), QUOTE_LENGTH)}"`);
  const lines = [
    `Back to before ${said.join(", ")}. /redo returns to it.`,
    ...effectLines(effects),
  ];
  return { kind: "lines", lines };
}

/** Returns to the branch that the active one left. */
async function redo(session: ChatSession): Promise<Outcome> {
  const branches = await session.branches();
  const active = branches.find((branch) => branch.active);
  const former = branches.find((branch) => branch.head === (active?.id ?? 0) - 1);
  if (former === undefined) return hint(`${session.id} has nothing to return to.`);
  return await moved(session, await session.checkout(former.id));
}

async function moved(session: ChatSession, { branch, effects }: Rewound): Promise<Outcome> {
  const said = (await messagesOfLastTurn(session)).map(
    ({ content }) => `"${excerpt(contentText(content), QUOTE_LENGTH)}"`,
  );
  const last = said.length === 0 ? "" : `; its last message is ${said.join(", ")}`;
  const lines = [`This is branch ${branch}${last}.`, ...effectLines(effects)];
  return { kind: "lines", lines };
}

function effectLines({ length }: Rewound["effects"]): readonly string[] {
  return length === 0 ? [] : [`${amount(length, "call")} had run: their effects are not undone.`];
}

async function branchLines(session: ChatSession): Promise<readonly string[]> {
  return (await session.branches()).map(branchLine);
}

async function messagesOfLastTurn(session: ChatSession): Promise<readonly UserItem[]> {
  const { history } = await session.view();
  const users = history.flatMap((item) => (item.kind === "user" ? [item] : []));
  return users.filter(({ turn }) => turn === users.at(-1)?.turn);
}
