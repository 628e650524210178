/** What a person is told who comes back to a session: where it stood, and what was cut off. Pure. */

import type { HistoryItem } from "../../projections/index.ts";
import type { SessionView } from "../../state/index.ts";
import { amount, contentText, excerpt } from "../wording/index.ts";

/** Messages of the user and replies that are shown again. */
const LAST_MESSAGES = 4;
const MESSAGE_LENGTH = 240;

export interface RecalledMessage {
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
