/**
 * A hash chain is made over what is stored. Where content is encrypted on one side of an export or an
 * import and not on the other, its links are made anew over what is stored there.
 */

import { asEncrypted } from "../../store/encryption/index.ts";
import {
  digestIn,
  HashChain,
  isEncryptedInLog,
  type ChainLink,
  type EventLog,
  type SessionEvent,
} from "../../events/index.ts";

/** Takes a session's events one after the other, and gives each with the link that it is to have. */
type Relinking = (event: SessionEvent) => SessionEvent;

/** For events of a log that leave it in plain text. A link that does not hold stays as it is. */
export function relinkedPlain(log: EventLog): Relinking {
  if (asEncrypted(log) === undefined) return (event) => event;
  const [stored, plain] = [new HashChain(), new HashChain()];
  return (event) => {
    // A copy lies in no log.
    const copy = isEncryptedInLog(event) ? { ...event } : event;
    const holds = isLink(event) && stored.digest(event) === digestIn(event);
    const told = holds && isLink(copy) ? withDigest(copy, plain.digest(copy)) : copy;
    stored.take(event);
    plain.take(told);
    return told;
  };
}

/** For events that are to be appended to a log as a session of their own. */
export async function relinkedFor(log: EventLog, session: string): Promise<Relinking> {
  const seal = await asEncrypted(log)?.encryptor(session);
  if (seal === undefined) return (event) => event;
  const chain = new HashChain();
  return (event) => {
    seal(event);
    const told = isLink(event) ? withDigest(event, chain.digest(event)) : event;
    seal(told);
    chain.take(told);
    return told;
  };
}

function isLink(event: SessionEvent): event is ChainLink {
  return digestIn(event) !== undefined;
}

function withDigest(link: ChainLink, digest: string): SessionEvent {
  return link.type === "session.chained"
    ? { ...link, data: { ...link.data, digest } }
    : { ...link, data: { ...link.data, digest } };
}
