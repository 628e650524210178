/** A conversation at a terminal: asks for a message, runs its turn, and again, until the person leaves. */

import { TurnlogError } from "../../events/index.ts";
import type { Session } from "../../runtime/index.ts";
import { askApproval, askMessage } from "./chat-prompt.ts";
import { reportError } from "../error-report.ts";
import type { Interrupts } from "./interrupts.ts";
import { keyboard } from "./keyboard.ts";
import type { Output } from "../output.ts";
import { runTurn } from "./run-turn.ts";
import { textView, type AskApproval } from "./turn-view.ts";

export interface Conversation {
  readonly session: Session;
  readonly output: Output;
  readonly interrupts: Interrupts;
  /** Whether errors are told with their stacks. */
  readonly debug: boolean;
}

/** @throws TurnlogError when the session cannot go on; a turn that fails is told, and the next one asked for */
export async function converse({
  session,
  output,
  interrupts,
  debug,
}: Conversation): Promise<void> {
  const { progress } = output;
  const keys = keyboard(process.stdin, () => interrupts.press());
  const ask: AskApproval = async (call, signal) => {
    keys.release();
    try {
      return await askApproval(call, signal);
    } finally {
      keys.hold();
    }
  };
  let typedAhead = "";
  for (;;) {
    await progress.write("\n");
    const message = await askMessage(typedAhead, interrupts.ending);
    if (message.kind === "left") return;
    await progress.write("\n");
    keys.hold();
    try {
      await runTurn(session, message.value, textView(output, ask), interrupts);
    } catch (error) {
      if (!TurnlogError.isInstance(error) || error.code !== "TURN_FAILED") throw error;
      await reportError(progress, error, debug);
    } finally {
      typedAhead = keys.release();
    }
  }
}
