/** The last turns of a long log, which the page shows while it loads the rest. */

import { TurnlogError, type EventLog, type SessionEvent } from "../../events/index.ts";

/** The most positions that are read for them. */
const MOST_POSITIONS = 4_000;

export interface NewestTurns {
  /** The first position. All of the log if it is 1. */
  readonly from: number;
  readonly events: readonly SessionEvent[];
}

/** Whole turns whose messages can be folded without the events before them; none if the last turn is too long. */
export async function newestTurns(log: EventLog, session: string): Promise<NewestTurns> {
  const revision = await log.revision(session);
  const first = Math.max(1, revision - MOST_POSITIONS + 1);
  try {
    const read = await Array.fromAsync(log.read(session, { from: first, to: revision }));
    if (first === 1) return { from: 1, events: read };
    const events = wholeTurns(read);
    return { from: events[0]?.position ?? revision + 1, events };
  } catch (error) {
    // Loading the whole log tells what cannot be read.
    if (TurnlogError.isInstance(error)) return { from: revision + 1, events: [] };
    throw error;
  }
}

/** The events of the turns that are whole. Pure. */
export function wholeTurns(events: readonly SessionEvent[]): readonly SessionEvent[] {
  const queued = new Set<string>();
  let start: number | undefined;
  for (const [index, { type, data }] of events.entries()) {
    if (type === "turn.ended") start ??= index + 1;
    else if (type === "message.queued" && start !== undefined) queued.add(data.id);
    const isOfBefore =
      // A branch may go on at a message that was not read, and a message may have waited since then.
      type === "session.rewound" ||
      (type === "message.delivered" && !data.ids.every((id) => queued.has(id)));
    if (!isOfBefore) continue;
    start = type === "session.rewound" ? index + 1 : undefined;
    queued.clear();
  }
  return start === undefined ? [] : events.slice(start);
}
