/** Carries out the commands about the store: `/new`, `/resume`, `/sessions`, `/model`, `/cost`. */

import type { ContextFigures } from "../../../runtime/index.ts";
import { UsageError } from "../../output/error-report.ts";
import { meantName } from "../../output/did-you-mean.ts";
import { visibleText } from "../../output/visible-text.ts";
import { cutToCells } from "../../terminal/cells.ts";
import { amount, dateAndTime, excerpt, tokens } from "../../wording/wording.ts";
import type { StoreLine } from "../line/chat-line.ts";
import type { ChatSession } from "../host/chat-session.ts";
import type { ChatStore } from "../host/chat-store.ts";
import { hint, type Outcome } from "./command-outcome.ts";
import { conversationOf, type ConversationState } from "../screen/conversation-state.ts";
import { lastMessages, openIssues } from "../host/resumed-session.ts";
import { newSessionName } from "../host/session-name.ts";

const LISTED = 15;
/** Cells that a title needs to say something. */
const SHORTEST_TITLE = 12;

export async function carryOutStore(
  line: StoreLine,
  session: ChatSession,
  { activity }: ConversationState,
  store: ChatStore,
  columns: number,
): Promise<Outcome> {
  if (line.kind === "cost") return { kind: "lines", lines: costLines(await session.context()) };
  if (line.kind === "sessions")
    return { kind: "lines", lines: await sessionLines(store, session.id, columns) };
  if (line.kind === "model" && line.model === undefined) return modelHint(store);
  // The screen may not have the event of a message that was just sent.
  const now = activity === "idle" ? conversationOf(await session.view()).activity : activity;
  if (now !== "idle")
    return hint(`A turn is running: /${line.kind} when it has ended; Esc cancels it.`);
  switch (line.kind) {
    case "model":
      return await changeModel(store, session.id, line.model ?? "");
    case "new":
      if (line.name !== undefined && (await store.exists(line.name)))
        return hint(`There is already a session ${line.name}: /resume ${line.name} goes to it.`);
      return await moveTo(store, line.name ?? newSessionName(new Date()));
    case "resume": {
      if (line.session === session.id) return hint(`This is ${session.id}.`);
      if (await store.exists(line.session)) return await moveTo(store, line.session);
      const names = (await store.list()).map((one) => one.session);
      const meant = meantName(line.session, names);
      const question = meant === undefined ? "/sessions lists them" : `did you mean ${meant}?`;
      return hint(`There is no session ${line.session}; ${question}.`.replace("?.", "?"));
    }
  }
}

async function moveTo(store: ChatStore, id: string): Promise<Outcome> {
  const isNew = !(await store.exists(id));
  const session = await store.open(id);
  const view = await session.view();
  const messages = lastMessages(view).map(({ who, text }) => `${who.padEnd(5)}  ${text}`);
  const lines = [`This is now ${id}${isNew ? ", a new session" : ""}.`, ...messages];
  return { kind: "moved", session, view, lines: [...lines, ...openIssues(view)] };
}

async function sessionLines(
  store: ChatStore,
  present: string,
  columns: number,
): Promise<readonly string[]> {
  const found = await store.list();
  const rows = found.slice(0, LISTED).map(({ session, updatedAt, turns, title }) => {
    const mark = session === present ? "*" : " ";
    const row = `${mark} ${session}  ${dateAndTime(updatedAt)}  ${amount(turns, "turn")}`;
    const about = excerpt(visibleText(title), 60);
    const left = columns - row.length - 2;
    return left < SHORTEST_TITLE ? row : `${row}  ${cutToCells(about, left)}`.trimEnd();
  });
  const left = found.length - rows.length;
  return [
    ...rows,
    ...(left > 0 ? [`… ${amount(left, "session")} more: turnlog sessions`] : []),
    "/resume <session> goes to one, /new begins another.",
  ];
}

function modelHint({ models }: ChatStore): Outcome {
  if (models === undefined) return otherAgent;
  return hint(
    `${models.current} answers. /model <model> changes that: openai:<model>, ollama:<model>, <address>#<model>, offline, …`,
  );
}

const otherAgent = hint("The agent of the process that has the store open answers.");

async function changeModel({ models }: ChatStore, session: string, name: string): Promise<Outcome> {
  if (models === undefined) return otherAgent;
  try {
    await models.change(session, name);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return hint(error.message);
  }
  return { kind: "lines", lines: [`From now on ${models.current} answers.`] };
}

function costLines({ model, spending, cost }: ContextFigures): readonly string[] {
  const part = (
    name: string,
    usage: typeof spending.steps,
    { dollars, basis, unpriced }: typeof cost.total,
  ) => {
    const about = basis === "estimated" ? "~" : "";
    const missing = unpriced === 0 ? "" : ` and ${amount(unpriced, "call")} without a known price`;
    return `  ${name.padEnd(12)} ${tokens(usage)} · ${about}$${dollars.toFixed(4)}${missing}`;
  };
  return [
    `This session so far, by ${model.provider}:${model.modelId}:`,
    part("replies", spending.steps, cost.steps),
    ...(spending.retries.inputTokens === 0
      ? []
      : [part("retries", spending.retries, cost.retries)]),
    ...(spending.compactions.inputTokens === 0
      ? []
      : [part("compactions", spending.compactions, cost.compactions)]),
    part("together", spending.total, cost.total),
  ];
}
