/** Cancels the running turn of a chat, and says what that found once the screen has shown the turn's end. */

import type { CancelMode, SessionEvent } from "../../events/index.ts";
import { cancelSentences, nextCancel } from "./cancel-words.ts";
import type { ChatScreen } from "./chat-screen.ts";
import type { ChatSession } from "./chat-session.ts";

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
