/** The hash chain of a live session: when a link is due, and where it goes on after a restart. */

import { digestIn, HashChain, type EventLog, type SessionEvent } from "../events/index.ts";
import type { SessionState } from "./session-state.ts";

/** Behind these a link stands: at the end of each attempt at a step and of each turn. */
const linked: ReadonlySet<SessionEvent["type"]> = new Set<SessionEvent["type"]>([
  "step.finished",
  "step.failed",
  "step.interrupted",
  "turn.ended",
]);

export class SessionChain {
  readonly #chain: HashChain;

  constructor(chain: HashChain) {
    this.#chain = chain;
  }

  /** Whether events have come that no link covers yet. */
  get isOpen(): boolean {
    return this.#chain.open > 0;
  }

  /** The event with its digest, where it is a link; any other as it is. */
  linked(event: SessionEvent): SessionEvent {
    if (event.type === "session.chained") {
      return { ...event, data: { ...event.data, digest: this.#chain.digest(event) } };
    }
    if (event.type !== "session.closed") return event;
    return { ...event, data: { ...event.data, digest: this.#chain.digest(event) } };
  }

  /** Goes on behind an event; answers whether a link is due behind it. */
  take(event: SessionEvent): boolean {
    this.#chain.take(event);
    return linked.has(event.type);
  }
}

/**
 * Reads what no link covers yet: as a rule nothing; all of a session that had no chain so far. Of a
 * closed one nothing is needed, as nothing follows.
 */
export async function openChain(
  log: EventLog,
  session: string,
  { position, machine }: Pick<SessionState, "position" | "machine">,
): Promise<SessionChain | undefined> {
  if (machine.matches("closed")) return undefined;
  let from = 1;
  for await (const event of log.read(session, { to: position, backwards: true })) {
    from = event.seq;
    if (digestIn(event) !== undefined) break;
  }
  const chain = new HashChain();
  for await (const event of log.read(session, { from, to: position })) chain.take(event);
  return new SessionChain(chain);
}
