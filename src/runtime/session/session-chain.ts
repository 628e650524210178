/** The hash chain of a live session: when a link is due, and where it goes on after a restart. */

import { asEncrypted } from "../../store/encryption/index.ts";
import { digestIn, HashChain, type EventLog, type SessionEvent } from "../../events/index.ts";
import type { SessionState } from "../../state/index.ts";

/** Behind these a link stands: at the end of each attempt at a step and of each turn. */
const linked: ReadonlySet<SessionEvent["type"]> = new Set<SessionEvent["type"]>([
  "step.finished",
  "step.failed",
  "step.interrupted",
  "turn.ended",
]);

/** Makes the form in which an event is stored, which is what is hashed, where its content is encrypted. */
type EventForm = (event: SessionEvent) => void;

export class SessionChain {
  readonly #chain: HashChain;
  readonly #seal: EventForm;

  constructor(chain: HashChain, seal: EventForm = () => {}) {
    this.#chain = chain;
    this.#seal = seal;
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
    const link = { ...event, data: { ...event.data, digest: "" } };
    this.#seal(link);
    return { ...event, data: { ...event.data, digest: this.#chain.digest(link) } };
  }

  /** Goes on behind an event; answers whether a link is due behind it. */
  take(event: SessionEvent): boolean {
    this.#seal(event);
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
    from = event.position;
    if (digestIn(event) !== undefined) break;
  }
  const chain = new HashChain();
  for await (const event of log.read(session, { from, to: position })) chain.take(event);
  return new SessionChain(chain, await asEncrypted(log)?.encryptor(session));
}
