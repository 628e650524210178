/** What a person is told who comes back to a session: where it stood, and what was cut off. Pure. */

import type { HistoryItem } from "../../projections/index.ts";
import type { SessionView } from "../../state/index.ts";
import { writeLine, type Channel, visibleText } from "../output/index.ts";
import { amount, contentText, excerpt } from "../wording/index.ts";

/** Messages of the user and replies that are shown again. */
const LAST_MESSAGES = 4;
const MESSAGE_LENGTH = 240;

export interface SessionIntroduction {
  readonly session: string;
  /** The command that goes on with it. */
  readonly resume: string;
  /** The name of the model. */
  readonly model: string;
  /** How the session stood; undefined for a new one. */
  readonly view: SessionView | undefined;
  /** Whether the last messages are shown again. */
  readonly recall: boolean;
  /** Another session that may have been meant by the name of a new one. */
  readonly meant: string | undefined;
}

export async function introduceSession(
  progress: Channel,
  { session, resume, model, view, recall, meant }: SessionIntroduction,
): Promise<void> {
  const what = view === undefined ? "New session" : "Session";
  const dim = (text: string): string => progress.style("dim", text);
  await writeLine(
    progress,
    `${dim(what)} ${session} ${dim(`· ${model} · go on later with: ${resume}`)}`,
  );
  if (meant !== undefined) {
    const slip = `There was no session ${session} until now; did you mean ${meant}?`;
    await writeLine(progress, progress.style("yellow", slip));
  }
  if (view === undefined) return;
  if (recall) {
    for (const { who, text } of lastMessages(view)) {
      await writeLine(progress, `${progress.style("bold", who.padEnd(5))}  ${visibleText(text)}`);
    }
  }
  for (const sentence of standing(view)) {
    await writeLine(progress, progress.style("yellow", sentence));
  }
}

interface RecalledMessage {
  readonly who: "You" | "Reply";
  readonly text: string;
}

export function lastMessages({ history }: SessionView): readonly RecalledMessage[] {
  return history.flatMap(messageOf).slice(-LAST_MESSAGES);
}

/** What the user typed in the session, the oldest first; files that came along are not typed. */
export function saidBefore({ history }: SessionView): readonly string[] {
  return history.flatMap((item) => {
    if (item.kind !== "user") return [];
    const { content } = item;
    if (typeof content === "string") return [content];
    const typed = content.flatMap((part) =>
      part.type === "text" && part.filename === undefined ? [part.text] : [],
    );
    return [typed.join("\n")];
  });
}

/** What is to be known before going on, a sentence each. */
export function standing({ history, queue }: SessionView): readonly string[] {
  const last = history.findLast((item) => item.kind === "turn-end");
  const step = history.findLast((item) => item.kind === "step");
  const lost = (step?.parts ?? []).filter(
    (part) => part.kind === "call" && part.outcome.status === "unknown",
  );
  return [
    ...(last?.reason === "interrupted"
      ? [
          "The last turn was interrupted: its process ended before it did. What had come by then is kept; send a message to go on.",
        ]
      : []),
    ...(last?.reason !== "interrupted" || lost.length === 0
      ? []
      : [
          `${amount(lost.length, "call")} had been started and may have done its work: nobody saw the outcome. The model is told to check.`,
        ]),
    ...(queue.length === 0
      ? []
      : [
          `${amount(queue.length, "message")} still waiting; delivered together with your next one.`,
        ]),
  ];
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
