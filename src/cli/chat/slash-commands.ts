/** Does to a session what a line asks for, and says what there is to be said of it. */

import { TurnlogError, type Delivery } from "../../events/index.ts";
import type { Session } from "../../runtime/index.ts";
import { contentText, excerpt } from "../wording/index.ts";
import { settle } from "./approval-settlement.ts";
import type { ChatLine } from "./chat-line.ts";
import { carryOutContext } from "./context-commands.ts";
import { whenDelivered } from "./conversation-panel.ts";
import { questionsOf, type ConversationState, type WaitingMessage } from "./conversation-state.ts";
import { mentionedFiles } from "./mentioned-files.ts";
import { hint, type Outcome } from "./command-outcome.ts";
import { carryOutTravel } from "./time-travel-commands.ts";

export type Order = Exclude<ChatLine, { readonly kind: "cancel" | "quit" | "help" | "wrong" }>;

/**
 * @param columns - Characters in a line of the screen.
 * @throws TurnlogError as the session's commands do; what has been overtaken by events is a hint
 */
export async function carryOut(
  order: Order,
  session: Session,
  state: ConversationState,
  delivery: Delivery,
  columns: number,
): Promise<Outcome> {
  switch (order.kind) {
    case "message": {
      const { text } = order;
      const files = await mentionedFiles(text, process.cwd());
      const turn = await session.send(files.length === 0 ? text : { text, files }, {
        delivery: order.delivery ?? delivery,
      });
      return { kind: "sent", turn };
    }
    case "nothing":
    case "resume":
      return await resume(order.kind, session, state);
    case "answer": {
      const [question] = questionsOf(state);
      if (question?.asked === undefined) return hint("No call waits for an answer.");
      const counted = await settle(session, question.asked, order.answer);
      return counted ? { kind: "done" } : hint("Too late: the call does not wait any more.");
    }
    case "ask":
      try {
        await session.forgetApproval(order.toolName);
        return { kind: "done" };
      } catch (error) {
        if (!TurnlogError.isInstance(error) || error.code !== "COMMAND_REFUSED") throw error;
        return hint(`Nothing was answered for good about ${order.toolName}.`);
      }
    case "move":
      return await overtaken(order.number, state, ({ id }) =>
        session.reschedule(id, order.delivery),
      );
    case "withdraw": {
      const numbers = order.which === "all" ? state.queue.map(({ number }) => number) : order.which;
      if (numbers.length === 0) return hint("No message waits.");
      let outcome: Outcome = { kind: "done" };
      for (const number of numbers) {
        const came = await overtaken(number, state, ({ id }) => session.withdraw(id));
        if (came.kind === "hint") outcome = came;
      }
      return outcome;
    }
    case "context":
    case "compact":
    case "preview":
    case "restore":
      return await carryOutContext(order, session, state, columns);
    case "fork":
    case "undo":
    case "at":
      return await carryOutTravel(order, session, state, columns);
    case "queue":
      return { kind: "lines", lines: queueLines(state) };
  }
}

async function resume(
  kind: "nothing" | "resume",
  session: Session,
  { queue, held, activity }: ConversationState,
): Promise<Outcome> {
  const isHeld = held && activity === "idle" && queue.length > 0;
  if (isHeld) await session.resume();
  else if (kind === "resume") return hint("No message is held back.");
  return { kind: "done" };
}

/** A message may be delivered while somebody writes what is to become of it. */
async function overtaken(
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
  return queue.map(({ number, delivery, content }) => {
    const when = whenDelivered(delivery, held, activity === "idle");
    return `${number} ${when}: ${excerpt(contentText(content), 400)}`;
  });
}
