/** Introduces a session when it is opened: its name, its last messages, and everything that needs attention. */

import type { StoredUserContent } from "../../../events/index.ts";
import type { HistoryItem } from "../../../projections/index.ts";
import type { SessionView } from "../../../state/index.ts";
import { writeSentence, type Channel } from "../../output/output.ts";
import { visibleText } from "../../output/visible-text.ts";
import { amount, contentText, excerpt, linesOf } from "../../wording/wording.ts";
import { randomBytes } from "node:crypto";

const LAST_MESSAGES = 4;
const MESSAGE_LENGTH = 240;

export interface SessionIntroduction {
  readonly session: string;
  /** The command that continues it. */
  readonly resume: string;
  readonly model: string;
  /** The view of an existing session; undefined for a new one. */
  readonly view: SessionView | undefined;
  /** Whether to show the last messages again. */
  readonly recall: boolean;
  /** An existing session with a similar name. */
  readonly meant: string | undefined;
}

export async function introduceSession(
  progress: Channel,
  { session, resume, model, view, recall, meant }: SessionIntroduction,
): Promise<void> {
  const what = view === undefined ? "New session" : "Session";
  const dim = (text: string): string => progress.style("dim", text);
  await writeSentence(
    progress,
    `${dim(what)} ${session} ${dim(`· ${model} · continue later with: ${resume}`)}`,
  );
  if (meant !== undefined) {
    const hint = `Session ${session} is new; did you mean ${meant}?`;
    await writeSentence(progress, progress.style("yellow", hint));
  }
  if (view === undefined) return;
  if (recall) {
    for (const { who, text } of lastMessages(view)) {
      await writeSentence(
        progress,
        `${progress.style("bold", who.padEnd(5))}  ${visibleText(text)}`,
      );
    }
  }
  for (const sentence of openIssues(view)) {
    await writeSentence(progress, progress.style("yellow", sentence));
  }
}

interface RecalledMessage {
  readonly who: "You" | "Reply";
  readonly text: string;
}

export function lastMessages({ history }: SessionView): readonly RecalledMessage[] {
  return history.flatMap(messageOf).slice(-LAST_MESSAGES);
}

/** The texts that the user typed in the session, oldest first, without attached files. */
export function earlierInputs({ history }: SessionView): readonly string[] {
  return history.flatMap((item) => {
    return item.kind === "user" ? [typedText(item.content)] : [];
  });
}

/** The text of a message without its attached files. */
export function typedText(content: StoredUserContent): string {
  if (typeof content === "string") return content;
  return content
    .flatMap((part) => (part.type === "text" && part.filename === undefined ? [part.text] : []))
    .join("\n");
}

/** Sentences about calls that wait for the client that runs them. */
export function waitingForClients({ outputRequests }: SessionView): readonly string[] {
  return outputRequests.flatMap(({ status, requestId, toolName }) =>
    status === "waiting"
      ? [
          `The call of ${toolName} waits for the client that runs it: its program answers with session.answerCall("${requestId}", …). Esc in a conversation cancels the turn instead.`,
        ]
      : [],
  );
}

/** Sentences about an interrupted turn, unknown outcomes, waiting calls and waiting messages. */
export function openIssues(view: SessionView): readonly string[] {
  const { history, queue } = view;
  const last = history.findLast((item) => item.kind === "turn-end");
  const step = history.findLast((item) => item.kind === "step");
  const lost = (step?.parts ?? []).filter(
    (part) => part.kind === "call" && part.outcome.status === "unknown",
  );
  const isInterrupted = last?.reason === "interrupted";
  return linesOf(
    isInterrupted &&
      "The process died during the last turn. The partial reply is kept; send a message to continue.",
    isInterrupted &&
      lost.length > 0 &&
      `${amount(lost.length, "call")} had started and has an unknown outcome. The model is told to check.`,
    waitingForClients(view),
    queue.length > 0 &&
      `${amount(queue.length, "message")} still waiting; your next message delivers them too.`,
  );
}

function messageOf(item: HistoryItem): readonly RecalledMessage[] {
  switch (item.kind) {
    case "user":
      return [{ who: "You", text: excerpt(contentText(item.content), MESSAGE_LENGTH) }];
    case "step": {
      const said = item.parts.map((part) => (part.kind === "text" ? part.text : "")).join(" ");
      const text = excerpt(said, MESSAGE_LENGTH);
      return text === "" ? [] : [{ who: "Reply", text }];
    }
    case "note":
    case "turn-end":
      return [];
  }
}

// Names of new sessions: the day, so that people find them, and random digits, so that they are unique.

/** `20260131-9f86d081` */
export function newSessionName(now: Date): string {
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("");
  return `${day}-${randomBytes(4).toString("hex")}`;
}

/** The name of a fork: begins with the original's name; forks of forks do not grow longer. */
export function forkName(session: string): string {
  const root = session.replace(/(-[0-9a-f]{8})-[0-9a-f]{8}$/, "$1").slice(0, 100);
  return `${root}-${randomBytes(4).toString("hex")}`;
}
