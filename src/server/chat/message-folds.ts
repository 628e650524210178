/**
 * The UI messages of sessions for pages that load. Folds of the newest sessions are kept, so that a load reads only the
 * events that came since. A fold begins with the turns that a page shows: a long chat opens as quickly as a short one.
 */

import { entryOf, type EventLog, type SessionEvent } from "../../events/index.ts";
import type { Session } from "../../runtime/index.ts";
import {
  isUnerased,
  lineRevisions,
  type LineRevisions,
  type SessionView,
} from "../../state/index.ts";
import {
  activeMessages,
  uiMessages,
  type SessionMessage,
  type UIMessagesState,
} from "../../ui/index.ts";
import type { Call } from "../route/route.ts";

interface WantedPage {
  readonly limit: number;
  readonly before: string | undefined;
}

interface MessagePage {
  /** Where it begins among the messages of a fold; negative if it may begin before them. */
  readonly from: number;
  /** -1 for a page before a message that the fold does not have. */
  readonly end: number;
  readonly messages: readonly SessionMessage[];
}

export function pageOf(state: UIMessagesState, { limit, before }: WantedPage): MessagePage {
  const all = activeMessages(state);
  const end = before === undefined ? all.length : all.findIndex(({ id }) => id === before);
  return { from: end - limit, end, messages: all.slice(Math.max(0, end - limit), end) };
}

interface Kept {
  readonly revisions: LineRevisions;
  readonly state: UIMessagesState;
  /** The end of the turn before the first one that is folded; 0 if all are. */
  readonly after: number;
  readonly position: number;
}

const MOST_KEPT = 64;

export class MessageFolds {
  /** By audience and session: they are shown different things. */
  readonly #kept = new Map<string, Kept>();

  /** The messages of all turns, or of so many of the newest ones that a page is among them. */
  async at(
    log: EventLog,
    opened: Session,
    { history, position }: SessionView,
    { ui, audience }: Pick<Call, "ui" | "audience">,
    wanted: WantedPage,
  ): Promise<UIMessagesState> {
    const { session } = ui;
    const { initial, fold } = uiMessages(ui);
    const key = `${audience} ${session}`;
    const known = this.#kept.get(key);
    const isKept =
      known !== undefined &&
      known.position <= position &&
      // Earlier content has been erased, so the states that were folded from it must go too.
      (await isUnerased(log, known.revisions));
    const ends = history.filter(({ kind }) => kind === "turn-end");
    let kept = isKept ? known : undefined;
    for (let first = kept?.after ?? position; ;) {
      if (kept === undefined) {
        // Each time more of the chat, so that a page that goes back reads it few times.
        const turns = wanted.limit + 1 + 4 * ends.filter((end) => end.position > first).length;
        const after = ends.at(-turns)?.position ?? 0;
        const revisions = await lineRevisions(log, session);
        const branch = await branchOf(opened, after);
        kept = { revisions, state: { ...initial, branch }, after, position: after };
      }
      const { after } = kept;
      let { state } = kept;
      let isWhole = true;
      for await (const event of log.read(session, { from: kept.position + 1, to: position })) {
        isWhole &&= !isOfEarlier(state, event);
        state = fold(state, event);
      }
      // What the first message follows is not known, so a page does not begin with it.
      if (after === 0 || (isWhole && pageOf(state, wanted).from > 0)) {
        this.#keep(key, { ...kept, state, position });
        return state;
      }
      first = after;
      kept = undefined;
    }
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
  }
}

/** Whether an event delivers a message that was accepted before the first turn that is folded. */
function isOfEarlier({ encoder }: UIMessagesState, { type, data }: SessionEvent): boolean {
  return (
    type === "message.delivered" &&
    data.ids.some((id) => entryOf(encoder.contents, id) === undefined)
  );
}

/** The branch of a position of the active line. */
async function branchOf(session: Session, position: number): Promise<number> {
  const branches = await session.branches();
  let branch = branches.find(({ active }) => active);
  while (branch !== undefined && branch.id > position) {
    const { parent } = branch;
    branch = branches.find(({ id }) => id === parent);
  }
  return branch?.id ?? 1;
}
