/** Carries out the commands about branches: `/undo`, `/redo`, `/edit`, `/retry`, `/branches`. */

import type { UserItem } from "../../projections/index.ts";
import type { Rewound } from "../../runtime/index.ts";
import type { ChatSession, ChatTurn } from "./chat-session.ts";
import { branchLine } from "../show/show-branches.ts";
import { amount, contentText, excerpt } from "../wording/wording.ts";
import type { TravelLine } from "./chat-line.ts";
import { hint, type Outcome } from "./command-outcome.ts";

const QUOTE_LENGTH = 80;

type BranchLine = Exclude<TravelLine, { readonly kind: "fork" | "at" }>;

export async function carryOutBranch(line: BranchLine, session: ChatSession): Promise<Outcome> {
  switch (line.kind) {
    case "undo":
      return await undo(session);
    case "redo":
      return await redo(session);
    case "retry":
      return await replaced(await session.regenerate());
    case "edit": {
      const [message] = (await lastMessages(session)).slice(-1);
      if (message === undefined) return hint(`${session.id} has no message that could be edited.`);
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
  const messages = await lastMessages(session);
  const [first] = messages;
  if (first === undefined) return hint(`${session.id} has no turn that could be undone.`);
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
  const said = (await lastMessages(session)).map(
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

async function lastMessages(session: ChatSession): Promise<readonly UserItem[]> {
  const { history } = await session.view();
  const users = history.flatMap((item) => (item.kind === "user" ? [item] : []));
  return users.filter(({ turn }) => turn === users.at(-1)?.turn);
}
