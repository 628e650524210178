/**
 * Makes the links of a hash chain anew when an export or import changes stored bytes, which the chain covers:
 * they differ between an encrypted and a plain log.
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

/** Takes the events in order and answers each with its new link. */
type Relinking = (event: SessionEvent) => SessionEvent;

/** For an export in plain text. A broken link stays broken. */
export function relinkedPlain(log: EventLog): Relinking {
  if (asEncrypted(log) === undefined) return (event) => event;
  const [stored, plain] = [new HashChain(), new HashChain()];
  return (event) => {
    // A copy has no stored form, so its digest covers the plain text.
    const copy = isEncryptedInLog(event) ? { ...event } : event;
    const holds = isLink(event) && stored.digest(event) === digestIn(event);
    const relinked = holds && isLink(copy) ? withDigest(copy, plain.digest(copy)) : copy;
    stored.take(event);
    plain.take(relinked);
    return relinked;
  };
}

/** For an import into a log that may encrypt; undefined for one that does not. */
export async function relinkedFor(log: EventLog, session: string): Promise<Relinking | undefined> {
  const encrypt = await asEncrypted(log)?.encryptor(session);
  if (encrypt === undefined) return undefined;
  const chain = new HashChain();
  return (event) => {
    encrypt(event);
    const relinked = isLink(event) ? withDigest(event, chain.digest(event)) : event;
    encrypt(relinked);
    chain.take(relinked);
    return relinked;
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
