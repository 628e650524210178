/**
 * The UI messages of sessions for pages that load. Folds of the newest sessions are kept, so that a load
 * reads only the events that came since.
 */

import type { EventLog } from "../../events/index.ts";
import { isUnerased, lineRevisions, type LineRevisions } from "../../state/index.ts";
import {
  activeMessages,
  uiMessages,
  type SessionMessage,
  type UIMessagesState,
} from "../../ui/index.ts";

interface Kept {
  readonly revisions: LineRevisions;
  readonly state: UIMessagesState;
  readonly position: number;
}

const MOST_KEPT = 64;

export class MessageFolds {
  readonly #kept = new Map<string, Kept>();

  /** The messages of the active branch up to a position, oldest first. */
  async messages(
    log: EventLog,
    session: string,
    position: number,
  ): Promise<readonly SessionMessage[]> {
    const { initial, fold } = uiMessages({ session });
    const known = this.#kept.get(session);
    const isKept =
      known !== undefined &&
      known.position <= position &&
      // Earlier content is gone: what was folded of it must go too.
      (await isUnerased(log, known.revisions));
    const { revisions, ...kept } = isKept
      ? known
      : { revisions: await lineRevisions(log, session), state: initial, position: 0 };
    let { state } = kept;
    for await (const event of log.read(session, { from: kept.position + 1, to: position }))
      state = fold(state, event);
    this.#keep(session, { revisions, state, position });
    return activeMessages(state);
  }

  #keep(session: string, kept: Kept): void {
    this.#kept.delete(session);
    this.#kept.set(session, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}
