/** The hash chain of a live session: when a link is due, and how the chain continues after a restart. */

import { asEncrypted } from "../../store/encryption/index.ts";
import { digestIn, HashChain, type EventLog, type SessionEvent } from "../../events/index.ts";
import type { SessionState } from "../../state/index.ts";

/** A link follows these: the ends of attempts at a step, and of turns. */
const linked: ReadonlySet<SessionEvent["type"]> = new Set<SessionEvent["type"]>([
  "step.finished",
  "step.failed",
  "step.interrupted",
  "turn.ended",
]);

/** Encrypts an event, if the store is encrypted: the chain hashes the stored form. */
type Encrypt = (event: SessionEvent) => void;

export class SessionChain {
  readonly #chain: HashChain;
  readonly #encrypt: Encrypt;

  constructor(chain: HashChain, encrypt: Encrypt = () => {}) {
    this.#chain = chain;
    this.#encrypt = encrypt;
  }

  get isOpen(): boolean {
    return this.#chain.open > 0;
  }

  /** A link with its digest; any other event unchanged. */
  linked(event: SessionEvent): SessionEvent {
    if (event.type === "session.chained") {
      return { ...event, data: { ...event.data, digest: this.#chain.digest(event) } };
    }
    if (event.type !== "session.closed") return event;
    const link = { ...event, data: { ...event.data, digest: "" } };
    this.#encrypt(link);
    return { ...event, data: { ...event.data, digest: this.#chain.digest(link) } };
  }

  /** Adds an event to the chain. Returns whether a link must follow it. */
  take(event: SessionEvent): boolean {
    this.#encrypt(event);
    this.#chain.take(event);
    return linked.has(event.type);
  }
}

/** Reads the events that no link covers: few, or all events of a session without a chain. */
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
