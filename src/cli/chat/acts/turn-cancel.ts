/** Cancels the running turn of a chat, and reports the result once the screen has shown the turn's end. */

import type { CancelMode, SessionEvent } from "../../../events/index.ts";
import type { Cancelled } from "../../../commands/index.ts";
import { amount, linesOf } from "../../wording/wording.ts";
import type { ChatScreen } from "../screen/chat-screen.ts";
import type { ChatSession } from "../host/chat-session.ts";
import { runningCalls, type ConversationState } from "../screen/conversation-state.ts";

export class TurnCancel {
  readonly #screen: ChatScreen;
  /** The mode of the last cancel, whose event may not have arrived. */
  #mode: CancelMode | undefined;
  /** Called when the screen has shown the end of the turn. */
  #shown: (() => void)[] = [];

  constructor(screen: ChatScreen) {
    this.#screen = screen;
  }

  get #isIdle(): boolean {
    return this.#screen.state.activity === "idle";
  }

  /** The mode of the next press; undefined if the turn is already stopping at once. */
  next(): CancelMode | undefined {
    return nextCancel(this.#screen.state, this.#mode);
  }

  /** After the screen has shown an event. */
  follow({ type }: SessionEvent): void {
    if (type === "turn.ended") for (const resolve of this.#shown.splice(0)) resolve();
    // A compaction between turns ends without a `turn.ended`.
    if (this.#isIdle) this.reset();
  }

  reset(): void {
    this.#mode = undefined;
  }

  async stop(session: ChatSession, mode: CancelMode, withdraw: boolean): Promise<void> {
    const isFirst = this.#mode === undefined;
    if (!this.#isIdle) this.#mode = mode;
    const cancelled = await session.cancel({ mode, withdraw, reason: "the user" });
    if (cancelled.turn !== undefined && !this.#isIdle) {
      await new Promise<void>((resolve) => this.#shown.push(resolve));
    }
    if (!isFirst) return;
    const { queue, held } = this.#screen.state;
    const waiting = queue.filter(({ id }) => !cancelled.withdrawn.includes(id)).length;
    await this.#screen.notes(cancelSentences(cancelled, held ? waiting : 0));
  }
}

/**
 * The mode of the next press: the first waits for running tools, the second does not.
 * @param requested - The mode of the last press, whose event may not have arrived.
 */
export function nextCancel(
  state: ConversationState,
  requested: CancelMode | undefined,
): CancelMode | undefined {
  const mode = requested ?? state.stopping;
  if (mode === "now") return undefined;
  return mode === undefined && runningCalls(state).length > 0 ? "after-tools" : "now";
}

/** Sentences about the result of a cancel and about waiting messages. The screen itself shows the turn's end. */
function cancelSentences(
  { was, turn, ended, withdrawn }: Cancelled,
  waiting: number,
): readonly string[] {
  return linesOf(
    turn === undefined && was === "idle" && "Nothing is running.",
    ended !== undefined && ended !== "cancelled" && `The turn ended before the cancel: ${ended}.`,
    withdrawn.length > 0 && `${amount(withdrawn.length, "message")} taken back.`,
    waiting > 0 && `${amount(waiting, "message")} held back: Enter delivers, /withdraw takes back.`,
  );
}
