/** The order in which lines of a chat are carried out, where they move to another session. */

import type { ChatLine } from "./chat-line.ts";

const moves: ReadonlySet<ChatLine["kind"]> = new Set(["fork", "undo", "new", "resume"]);

export class LineOrder {
  /** Settles when the last message is accepted: a fork waits for it, so that it includes the message. */
  #sent: Promise<void> = Promise.resolve();
  /** Settles when the last move is done: lines typed meanwhile go to the new session. */
  #moved: Promise<void> = Promise.resolve();

  run({ kind }: ChatLine, work: () => Promise<void>): Promise<void> {
    const isMove = moves.has(kind);
    const before = [this.#moved, ...(isMove ? [this.#sent] : [])];
    const done = Promise.all(before).then(work);
    const settled = done.catch(() => {});
    if (isMove) this.#moved = settled;
    else if (kind === "message") this.#sent = settled;
    return done;
  }
}
