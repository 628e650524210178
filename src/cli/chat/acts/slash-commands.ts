/** Carries out a parsed line on the session, and returns the outcome for the chat. */

import { TurnlogError, type Delivery } from "../../../events/index.ts";
import type { ChatSession } from "../host/chat-session.ts";
import { contentText, excerpt } from "../../wording/wording.ts";
import { settle } from "./approval-settlement.ts";
import type { ChatLine } from "../line/chat-line.ts";
import type { ChatStore } from "../host/chat-store.ts";
import { carryOutStore } from "./store-commands.ts";
import { carryOutContext } from "./context-commands.ts";
import { whenDelivered } from "../screen/conversation-panel.ts";
import {
  questionsOf,
  type ConversationState,
  type WaitingMessage,
} from "../screen/conversation-state.ts";
import { mentionedFiles } from "../line/mentioned-files.ts";
import { hint, type Outcome } from "./command-outcome.ts";
import { carryOutTravel } from "./time-travel-commands.ts";

/** The lines that act on the session; the chat handles the others itself. */
export type SessionLine = Exclude<
  ChatLine,
  { readonly kind: "cancel" | "quit" | "help" | "wrong" }
>;

/** `columns`: of the screen. @throws TurnlogError as the session's commands do; a command too late gives a hint */
export async function carryOut(
  line: SessionLine,
  session: ChatSession,
  store: ChatStore,
  state: ConversationState,
  delivery: Delivery,
  columns: number,
): Promise<Outcome> {
  switch (line.kind) {
    case "message": {
      const { text } = line;
      const files = await mentionedFiles(text, process.cwd());
      const turn = await session.send(files.length === 0 ? text : { text, files }, {
        delivery: line.delivery ?? delivery,
      });
      return { kind: "sent", turn };
    }
    case "nothing":
    case "deliver":
      return await deliver(line.kind, session, state);
    case "answer": {
      const [question] = questionsOf(state);
      if (question?.asked === undefined) return hint("No call waits for an answer.");
      const isAnswered = await settle(session, question.asked, line.answer);
      return isAnswered ? { kind: "done" } : hint("Too late: the call no longer waits.");
    }
    case "ask":
      try {
        await session.forgetApproval(line.toolName);
        return { kind: "done" };
      } catch (error) {
        if (!TurnlogError.isInstance(error) || error.code !== "COMMAND_REFUSED") throw error;
        return hint(`There is no always or never for ${line.toolName}.`);
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

/** Changes a waiting message. A message that was delivered meanwhile gives a hint. */
async function changeWaiting(
  number: number,
  { queue }: ConversationState,
  act: (message: WaitingMessage) => Promise<void>,
): Promise<Outcome> {
  const message = queue.find((one) => one.number === number);
  if (message === undefined) return hint(`No message ${number} waits.`);
  try {
    await act(message);
    return { kind: "done" };
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "COMMAND_REFUSED") throw error;
    return hint(`Too late: message ${number} has been delivered.`);
  }
}

function queueLines({ queue, held, activity }: ConversationState): readonly string[] {
  if (queue.length === 0) return ["No message waits."];
  return queue.map(({ number, content, ...message }) => {
    const when = whenDelivered(message, held, activity === "idle");
    return `${number} ${when}: ${excerpt(contentText(content), 400)}`;
  });
}
