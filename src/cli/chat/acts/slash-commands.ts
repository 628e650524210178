/** Carries out a parsed line on the session, and returns the outcome for the chat. */

import type { Delivery } from "../../../events/index.ts";
import type { ChatSession, ChatStore } from "../host/chat-session.ts";
import { contentText, excerpt, amount, dateAndTime, linesOf } from "../../wording/wording.ts";
import { type ChatLine, type ContextLine, type StoreLine, strategyOf } from "../line/chat-line.ts";
import { whenDelivered } from "../screen/conversation-panel.ts";
import {
  questionsOf,
  type ConversationState,
  type WaitingMessage,
} from "../screen/conversation-state.ts";
import { mentionedFiles } from "../line/mentioned-files.ts";
import type { ShellCommands } from "./shell-command.ts";
import { busyHint, hint, settle, unlessRefused, type Outcome } from "./command-outcome.ts";
import { carryOutTravel } from "./time-travel-commands.ts";
import type { CompactionPreview } from "../../../runtime/index.ts";
import { contextLines } from "../../wording/context-drawing.ts";
import { costLines, partLines } from "../../wording/bill-words.ts";
import { fromTo } from "../../wording/context-words.ts";
import { UsageError, meantName } from "../../output/error-report.ts";
import { visibleText } from "../../output/visible-text.ts";
import { cutToCells } from "../../terminal/cells.ts";
import { lastMessages, openIssues, newSessionName } from "../host/resumed-session.ts";

/** The lines that act on the session; the chat handles the others itself. */
export type SessionLine = Exclude<
  ChatLine,
  { readonly kind: "cancel" | "quit" | "help" | "shell" | "wrong" }
>;

/** `columns`: of the screen. @throws TurnlogError as the session's commands do; a command too late gives a hint */
export async function carryOut(
  line: SessionLine,
  session: ChatSession,
  store: ChatStore,
  state: ConversationState,
  delivery: Delivery,
  columns: number,
  shell: Pick<ShellCommands, "withOutputs">,
): Promise<Outcome> {
  switch (line.kind) {
    case "message": {
      const { text } = line;
      const mentioned = await mentionedFiles(text, process.cwd(), store.servers);
      const turn = await shell.withOutputs(session.id, async (outputs) => {
        const files = [...outputs, ...mentioned];
        return await session.send(files.length === 0 ? text : { text, files }, {
          delivery: line.delivery ?? delivery,
        });
      });
      return { kind: "sent", turn };
    }
    case "nothing":
    case "deliver":
      return await deliver(line.kind, session, state);
    case "answer": {
      const [question] = questionsOf(state);
      if (question?.asked === undefined) return hint("No call waits for an answer.");
      const refused = await settle(session, question.asked, line.answer);
      return refused === undefined ? { kind: "done" } : hint(refused);
    }
    case "ask":
      return await unlessRefused(
        () => session.forgetApproval(line.toolName),
        () => `There is no always or never answer for ${line.toolName}.`,
      );
    case "allow": {
      if (state.budget === undefined) return hint("No limit of spending holds a turn.");
      await session.allow({ [state.budget.unit]: line.more });
      return { kind: "done" };
    }
    case "move":
      return await changeWaiting(line.number, state, ({ id }) =>
        session.reschedule(id, line.delivery),
      );
    case "withdraw": {
      const numbers = line.which === "all" ? state.queue.map(({ number }) => number) : line.which;
      if (numbers.length === 0) return hint("No message waits.");
      let outcome: Outcome = { kind: "done" };
      for (const number of numbers) {
        const one = await changeWaiting(number, state, ({ id }) => session.withdraw(id));
        if (one.kind === "hint") outcome = one;
      }
      return outcome;
    }
    case "context":
    case "compact":
    case "preview":
    case "restore":
      return await carryOutContext(line, session, state, columns);
    case "fork":
    case "undo":
    case "redo":
    case "retry":
    case "edit":
    case "branches":
    case "at":
      return await carryOutTravel(line, session, state, columns);
    case "new":
    case "resume":
    case "sessions":
    case "model":
    case "cost":
      return await carryOutStore(line, session, state, store, columns);
    case "queue":
      return { kind: "lines", lines: queueLines(state) };
  }
}

async function deliver(
  kind: "nothing" | "deliver",
  session: ChatSession,
  { queue, held, activity }: ConversationState,
): Promise<Outcome> {
  const isHeld = held && activity === "idle" && queue.length > 0;
  if (isHeld) await session.resume();
  else if (kind === "deliver") return hint("No message is held back.");
  return { kind: "done" };
}

/** Changes a waiting message. If it has been delivered in the meantime, the outcome is a hint. */
async function changeWaiting(
  number: number,
  { queue }: ConversationState,
  act: (message: WaitingMessage) => Promise<void>,
): Promise<Outcome> {
  const message = queue.find((one) => one.number === number);
  if (message === undefined) return hint(`No message ${number} waits.`);
  return await unlessRefused(
    () => act(message),
    () => `Too late: message ${number} has been delivered.`,
  );
}

function queueLines({ queue, held, activity }: ConversationState): readonly string[] {
  if (queue.length === 0) return ["No message waits."];
  return queue.map(({ number, content, ...message }) => {
    const when = whenDelivered(message, held, activity === "idle");
    return `${number} ${when}: ${excerpt(contentText(content), 400)}`;
  });
}

// Carries out the commands about the prompt: `/context`, `/preview`, `/compact`, `/restore`.

/** Messages that a preview lists one by one. */
const PREVIEW_MESSAGES = 8;

async function carryOutContext(
  line: ContextLine,
  session: ChatSession,
  state: ConversationState,
  columns: number,
): Promise<Outcome> {
  switch (line.kind) {
    case "context":
      return { kind: "lines", lines: contextLines(await session.context(), columns) };
    case "preview": {
      const compact = line.how === undefined ? {} : { compact: strategyOf(line.how) };
      return { kind: "lines", lines: previewLines(await session.preview(compact), columns) };
    }
    case "compact":
    case "restore":
      // The screen shows the event.
      return (
        (await busyHint(line.kind, session, state)) ??
        (await unlessRefused(
          () =>
            line.kind === "restore"
              ? session.restore(line.position)
              : session.compact(line.how && strategyOf(line.how)),
          ({ message }) => message,
        ))
      );
  }
}

function previewLines(preview: CompactionPreview, columns: number): readonly string[] {
  const { strategy, position, outcome, plan, prompt, beforeTokens, afterTokens } = preview;
  if (outcome === "failed") return [`${strategy} would fail here. Nothing was written.`];
  if (plan === undefined) {
    return [`${strategy} would save less than a tenth. Nothing was written.`];
  }
  const saved = Math.round((1 - afterTokens / Math.max(1, beforeTokens)) * 100);
  const { covers, summary } = plan;
  const replacement = summary === "" ? "nothing" : amount(summary.length, "character");
  const left = prompt.length - PREVIEW_MESSAGES;
  const first = left > 0 ? prompt.slice(0, PREVIEW_MESSAGES / 2) : prompt;
  const last = left > 0 ? prompt.slice(-PREVIEW_MESSAGES / 2) : [];
  const rows = (messages: typeof prompt): readonly string[] =>
    messages.map(({ role, content }) => {
      const text = typeof content === "string" ? content : content.map(partText).join(" ");
      return `  ${role.padEnd(9)} ${excerpt(text, Math.max(20, columns - 14))}`;
    });
  return [
    `${strategy} at ${position}: ${fromTo(beforeTokens, afterTokens)} (${saved} % less). Nothing was written.`,
    `Positions ${covers.from} to ${covers.to} would be replaced by ${replacement}; the model would see ${amount(prompt.length, "message")}:`,
    ...rows(first),
    ...(left > 0 ? [`  … ${amount(left, "message")} more`] : []),
    ...rows(last),
  ];
}

type Part = Exclude<CompactionPreview["prompt"][number]["content"], string>[number];

function partText(part: Part): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool-call":
    case "tool-result":
      return `[${part.type} ${part.toolName}]`;
    default:
      return `[${part.type}]`;
  }
}

// Carries out the commands about the store: `/new`, `/resume`, `/sessions`, `/model`, `/cost`.

const LISTED = 15;
/** The fewest cells in which a title is still useful. */
const SHORTEST_TITLE = 12;

async function carryOutStore(
  line: StoreLine,
  session: ChatSession,
  state: ConversationState,
  store: ChatStore,
  columns: number,
): Promise<Outcome> {
  if (line.kind === "cost") return { kind: "lines", lines: await sessionCost(session) };
  if (line.kind === "sessions")
    return { kind: "lines", lines: await sessionLines(store, session.id, columns) };
  if (line.kind === "model" && line.model === undefined) return modelHint(store);
  const busy = await busyHint(line.kind, session, state);
  if (busy !== undefined) return busy;
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
  let isRemembered = false;
  try {
    isRemembered = await models.change(session, name);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return hint(error.message);
  }
  return {
    kind: "lines",
    lines: [`From now on ${models.current} answers${isRemembered ? ", also in later chats" : ""}.`],
  };
}

const DEAREST = 3;

/** What the session has cost, and the three dearest parts of its prompts. */
async function sessionCost(session: ChatSession): Promise<readonly string[]> {
  const { model, spending } = await session.context();
  const bill = await session.bill();
  const dearest = partLines(bill.parts, DEAREST);
  const { id } = session;
  return linesOf(
    `This session so far, by ${model.provider}:${model.modelId}:`,
    costLines(bill, spending),
    dearest.length > 0 && ["The dearest, over all calls that carried them:", ...dearest],
    bill.misses.length > 0 &&
      `The provider's cache missed in ${amount(bill.misses.length, "call")}: turnlog bill ${id}`,
  );
}
